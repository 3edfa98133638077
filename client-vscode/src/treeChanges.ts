import type { TreeNode } from './goalNodes';

/**
 * The ids of the nodes that must be drawn again, each with all that is under it; undefined where the roots differ.
 *
 * A node whose children come, go or move is one of them; one whose descendants alone changed isn't.
 */
export function treeChanges(before: readonly TreeNode[], after: readonly TreeNode[]): string[] | undefined {
  if (!sameIds(before, after)) {
    return undefined;
  }
  const changed: string[] = [];
  collect(before, after, changed);
  return changed;
}

function collect(before: readonly TreeNode[], after: readonly TreeNode[], changed: string[]): void {
  for (const [index, now] of after.entries()) {
    const then = before[index];
    if (then === now) {
      continue;
    }
    if (then === undefined || !looksSame(then, now) || !sameIds(then.children, now.children)) {
      changed.push(now.id);
    } else {
      collect(then.children, now.children, changed);
    }
  }
}

function sameIds(before: readonly TreeNode[], after: readonly TreeNode[]): boolean {
  return before.length === after.length && after.every((one, index) => one.id === before[index]?.id);
}

function looksSame(one: TreeNode, other: TreeNode): boolean {
  return (
    one.label === other.label &&
    one.description === other.description &&
    one.spoken === other.spoken &&
    one.context === other.context &&
    one.opens === other.opens &&
    one.later === other.later &&
    rest(one) === rest(other)
  );
}

function rest({ icon, about, click }: TreeNode): string {
  return JSON.stringify([icon, about, click]);
}

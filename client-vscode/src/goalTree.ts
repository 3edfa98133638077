import type { Node, Snapshot } from './protocol';
import { pursuit, shownRuns } from './snapshots';

/** What the tree shows besides the snapshots. */
export interface Surroundings {
  readonly files: readonly Node[];
  /** The name of a goal's workspace folder, where there are several. */
  readonly folderName: (goalUri: string) => string | undefined;
}

/** The roots of the view: what waits for a person, then each goal once: unfinished ones, others, those not begun. */
export function goalTree(snapshots: readonly Snapshot[], { files, folderName }: Surroundings): Node[] {
  const asked = snapshots.flatMap(({ view }) => view.asked.map(({ node }) => node));
  const runs = shownRuns(snapshots);
  const sorted = [...runs.filter(({ view }) => view.unfinished), ...runs.filter(({ view }) => !view.unfinished)];
  const goals = sorted.map((one) => goalNode(one, pursuit(one, snapshots), one.goalUri === null ? undefined : folderName(one.goalUri)));
  return [...asked, ...goals, ...files];
}

/** A check has no iterations of its own, and can go on where the run that was checked can. */
function goalNode({ view: { node, requirements } }: Snapshot, run: Snapshot, folder: string | undefined): Node {
  const goesOn = run.view.goesOn ? '.resumable' : '';
  return {
    ...node,
    ...(folder === undefined ? {} : { description: `${folder} · ${node.description}`, spoken: `${node.spoken}, ${folder}` }),
    context: node.context.startsWith('goal.checked') ? node.context.replace('checked', `checked${goesOn}`) : node.context,
    children: [...node.children, ...requirements.flatMap((one) => one.node ?? []), ...(run.view.iterations === null ? [] : [run.view.iterations])],
  };
}

/**
 * The ids of the nodes that must be drawn again, each with all that is under it; undefined where the roots differ.
 *
 * A node whose children come, go or move is one of them; one whose descendants alone changed isn't.
 */
export function treeChanges(before: readonly Node[], after: readonly Node[]): string[] | undefined {
  return sameIds(before, after) ? after.flatMap((now, at) => changesOf(before[at], now)) : undefined;
}

function changesOf(then: Node | undefined, now: Node): string[] {
  if (then === now) {
    return [];
  }
  const same = then !== undefined && looks(then) === looks(now) && sameIds(then.children, now.children);
  return same ? now.children.flatMap((child, at) => changesOf(then.children[at], child)) : [now.id];
}

function sameIds(before: readonly Node[], after: readonly Node[]): boolean {
  return before.length === after.length && after.every((one, index) => one.id === before[index]?.id);
}

/** A tooltip is asked for when the pointer rests on the node, and is no reason to draw it again. */
function looks(node: Node): string {
  return JSON.stringify({ ...node, tooltip: '', children: [] });
}

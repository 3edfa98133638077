import type { About, TreeNode } from './goalNodes';
import { treeChanges } from './treeChanges';

/**
 * What the editor holds on to for one node: the same object as long as the node's id is there.
 *
 * It carries the fields of `about`, which commands of its menu read.
 */
export interface Element extends About {
  node: TreeNode;
}

/** The nodes of the view as the editor knows them, across snapshots. */
export class GoalElements {
  private elements = new Map<string, Element>();
  private parents = new Map<string, string>();
  private nodes: readonly TreeNode[] = [];

  /** Takes new nodes; returns the elements that must be drawn again, undefined for all of them. */
  replace(nodes: readonly TreeNode[]): Element[] | undefined {
    const changed = treeChanges(this.nodes, nodes);
    const elements = new Map<string, Element>();
    this.parents = new Map();
    this.keep(nodes, elements);
    this.elements = elements;
    this.nodes = nodes;
    return changed?.flatMap((id) => elements.get(id) ?? []);
  }

  roots(): Element[] {
    return this.of(this.nodes);
  }

  under(element: Element): Element[] {
    return this.of(this.elements.get(element.node.id)?.node.children ?? []);
  }

  parent(element: Element): Element | undefined {
    const id = this.parents.get(element.node.id);
    return id === undefined ? undefined : this.elements.get(id);
  }

  private of(nodes: readonly TreeNode[]): Element[] {
    return nodes.flatMap((one) => this.elements.get(one.id) ?? []);
  }

  private keep(nodes: readonly TreeNode[], elements: Map<string, Element>): void {
    for (const node of nodes) {
      const element = this.elements.get(node.id) ?? { node };
      elements.set(node.id, Object.assign(element, { runId: undefined }, node.about, { node }));
      for (const child of node.children) {
        this.parents.set(child.id, node.id);
      }
      this.keep(node.children, elements);
    }
  }
}

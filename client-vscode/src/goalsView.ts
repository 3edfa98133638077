import * as vscode from 'vscode';
import { goalTree, treeChanges } from './goalTree';
import type { Node, Range, Snapshot } from './protocol';
import { waiting } from './questions';
import type { Services } from './services';
import { Throttle } from './throttle';

/** VS Code draws a tree's first change at once, but what follows within 200 ms of each other only after such a pause. */
const DRAW_MS = 250;

type GoalsViewServices = Pick<Services, 'request' | 'want' | 'snapshots' | 'goalFiles'>;

/**
 * What the editor holds on to for one node: the same object as long as the node's id is there. It carries the fields of
 * `about`, which commands of its menu read.
 */
interface Element {
  node: Node;
}

/** The view Goals: what waits for a person, the goals with their requirements, and what was done. */
export function registerGoalsView(services: GoalsViewServices): vscode.Disposable {
  const goals = new Goals(services);
  const view = vscode.window.createTreeView('donewhen.goals', { treeDataProvider: goals, showCollapseAll: true });
  const wanted = (): void => {
    if (view.visible) {
      services.want();
    }
  };
  wanted();
  const badge = services.snapshots.onDidChange(() => {
    setBadge(view, services);
  });
  return vscode.Disposable.from(goals, view, view.onDidChangeVisibility(wanted), badge);
}

/** How many questions wait for a person, on the icon of the view. */
function setBadge(view: vscode.TreeView<Element>, { snapshots }: GoalsViewServices): void {
  const value = waiting(snapshots.all());
  const tooltip = value === 1 ? vscode.l10n.t('1 question is waiting for you') : vscode.l10n.t('{0} questions are waiting for you', value);
  if ((view.badge?.value ?? 0) !== value) {
    view.badge = value === 0 ? undefined : { value, tooltip };
  }
}

class Goals implements vscode.TreeDataProvider<Element>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Element[] | undefined>();
  private readonly subscriptions: vscode.Disposable;
  private readonly drawing = new Throttle(() => {
    this.redraw();
  }, DRAW_MS);
  private nodes: readonly Node[] = [];
  private elements = new Map<string, Element>();
  private parents = new Map<string, string>();
  /** What was asked for since somebody opened a node, by its id, as of the version that the node had. */
  private readonly opened = new Map<string, Pick<Node, 'version' | 'children'>>();
  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly services: GoalsViewServices) {
    const later = (): void => {
      this.drawing.want();
    };
    this.subscriptions = vscode.Disposable.from(services.snapshots.onDidChange(later), services.goalFiles.onDidChange(later));
    this.replace();
  }

  getTreeItem({ node }: Element): vscode.TreeItem {
    const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(node.label, { never: None, collapsed: Collapsed, expanded: Expanded }[node.opens]);
    item.id = node.id;
    item.description = node.description;
    item.contextValue = node.context;
    item.accessibilityInformation = { label: node.spoken };
    if (node.icon !== '') {
      item.iconPath = new vscode.ThemeIcon(node.icon, node.color === '' ? undefined : new vscode.ThemeColor(node.color));
    }
    if (node.click !== null) {
      item.command = command(node.click, node.about);
    }
    return item;
  }

  resolveTreeItem(item: vscode.TreeItem, { node }: Element): vscode.TreeItem {
    item.tooltip = new vscode.MarkdownString(node.tooltip, true);
    return item;
  }

  async getChildren(element?: Element): Promise<Element[]> {
    if (element === undefined) {
      return this.of(this.nodes);
    }
    const { id, later, about, version } = element.node;
    if (later > 0 && this.opened.get(id)?.version !== version) {
      const { children } = await this.services.request('donewhen.run.children', { runId: String(about['runId']), node: id });
      this.opened.set(id, { version, children });
      this.redraw(element);
    }
    return this.of(this.elements.get(id)?.node.children ?? []);
  }

  getParent(element: Element): Element | undefined {
    return this.elements.get(this.parents.get(element.node.id) ?? '');
  }

  dispose(): void {
    this.drawing.dispose();
    this.subscriptions.dispose();
    this.changed.dispose();
  }

  /** Draws what changed, but for the node whose children are being given just now. */
  private redraw(given?: Element): void {
    const changed = this.replace()?.filter((element) => given === undefined || (element !== given && this.getParent(element) !== given));
    if (changed === undefined || changed.length > 0) {
      this.changed.fire(changed);
    }
  }

  /** Takes the nodes as they are now; returns the elements that must be drawn again, undefined for all of them. */
  private replace(): Element[] | undefined {
    const snapshots = this.services.snapshots.all();
    const nodes = goalTree(snapshots, { folderName, files: this.untouched(snapshots) }).map((one) => this.withOpened(one));
    const changed = treeChanges(this.nodes, nodes);
    const elements = new Map<string, Element>();
    this.parents = new Map();
    this.keep(nodes, elements);
    this.elements = elements;
    this.nodes = nodes;
    return changed && this.of(changed.map((id) => ({ id })));
  }

  /** What stood under a node before stays until what is under it now has come. */
  private withOpened(node: Node): Node {
    const children = node.later > 0 ? (this.opened.get(node.id)?.children ?? []) : node.children;
    return children.length === 0 ? node : { ...node, children: children.map((child) => this.withOpened(child)) };
  }

  private keep(nodes: readonly Node[], elements: Map<string, Element>): void {
    for (const node of nodes) {
      const element = this.elements.get(node.id) ?? { node };
      elements.set(node.id, Object.assign(element, { runId: undefined }, node.about, { node }));
      for (const child of node.children) {
        this.parents.set(child.id, node.id);
      }
      this.keep(node.children, elements);
    }
  }

  private of(nodes: readonly Pick<Node, 'id'>[]): Element[] {
    return nodes.flatMap(({ id }) => this.elements.get(id) ?? []);
  }

  /** Goal files without a run or a check. */
  private untouched(snapshots: readonly Snapshot[]): Node[] {
    const known = new Set(snapshots.map(({ goalUri }) => goalUri));
    const state = vscode.l10n.t('not started');
    return this.services.goalFiles.all
      .filter(({ uri }) => !known.has(uri))
      .map(({ uri, title }) => {
        const folder = folderName(uri);
        return {
          // Another id than the goal's when it is pursued: that one opens by itself, which a known row would not.
          id: `file/${uri}`,
          label: title,
          description: folder === undefined ? state : `${folder} · ${state}`,
          icon: 'target',
          color: '',
          spoken: vscode.l10n.t('Goal {0}: {1}', title, state),
          context: 'goal.new',
          opens: 'never',
          about: { goalUri: uri },
          click: 'goal',
          tooltip: new vscode.MarkdownString().appendText(`${title} · ${state}`).value,
          later: 0,
          version: '',
          children: [],
        };
      });
  }
}

/** Said only where there is more than one folder. */
function folderName(goalUri: string): string | undefined {
  const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  return several ? vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(goalUri))?.name : undefined;
}

function command(click: NonNullable<Node['click']>, about: Node['about']): vscode.Command {
  const { t } = vscode.l10n;
  if (click === 'place') {
    const { start, end } = about['range'] as Range;
    const selection = new vscode.Range(start.line, start.character, end.line, end.character);
    return { command: 'vscode.open', title: t('Open'), arguments: [vscode.Uri.parse(String(about['uri'])), { selection, preview: true }] };
  }
  const [id, title] = {
    goal: ['openGoal', t('Open Goal')],
    evidence: ['openEvidence', t('Open Evidence')],
    interrupt: ['openInterrupt', t('Show')],
    choice: ['interrupt.choose', t('Answer')],
    words: ['answer', t('Answer')],
    change: ['openIterationDiff', t('Show Changes')],
  }[click] as [string, string];
  return { command: `donewhen.${id}`, title, arguments: [about] };
}

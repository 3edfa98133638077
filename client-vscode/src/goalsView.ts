import * as vscode from 'vscode';
import type { Click, TreeNode } from './goalNodes';
import { type Element, GoalElements } from './goalElements';
import { GoalFiles } from './goalFiles';
import { type GoalFile, goalTree } from './goalTree';
import { History, reportedIterations } from './history';
import { Pace } from './pace';
import type { Snapshot } from './protocol';
import { tellOrForce, type Outcome } from './reverting';
import type { Services } from './services';
import { goalUri } from './targets';
import { told } from './told';

/** The view Goals: what waits for a person, the goals with their requirements, and what was done. */
export function registerGoalsView(services: Services): vscode.Disposable {
  const goals = new Goals(services);
  const view = vscode.window.createTreeView('donewhen.goals', { treeDataProvider: goals, showCollapseAll: true });
  const badge = services.snapshots.onDidChange(() => {
    setBadge(view, services);
  });
  const wanted = (): void => {
    if (view.visible) {
      services.client.want();
    }
  };
  wanted();
  return vscode.Disposable.from(
    goals,
    view,
    view.onDidChangeVisibility(wanted),
    badge,
    vscode.commands.registerCommand('donewhen.finding.accept', (about: unknown) => acceptFinding(services, about)),
    vscode.commands.registerCommand('donewhen.finding.revert', (about: unknown) => revertFinding(services, about)),
    vscode.commands.registerCommand('donewhen.openGoal', (about: unknown) => told(openGoal(services, about))),
  );
}

class Goals implements vscode.TreeDataProvider<Element>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Element[] | undefined>();
  private readonly elements = new GoalElements();
  private readonly history: History;
  private readonly files: GoalFiles;
  private readonly subscriptions: { dispose(): void }[];
  private readonly pace = new Pace(() => {
    this.redraw();
  });
  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly services: Services) {
    const { client, snapshots } = services;
    this.files = new GoalFiles(services.log);
    this.history = new History(async (runId) => {
      const report = await client.request('donewhen.run.report', { runId, format: 'json' });
      return reportedIterations(report.text);
    });
    const taken = snapshots.onDidChange((runId) => {
      const snapshot = runId === undefined ? undefined : snapshots.get(runId);
      if (snapshot !== undefined) {
        this.history.remember(snapshot);
      }
      this.pace.want();
    });
    const found = this.files.onDidChange(() => {
      this.pace.want();
    });
    this.subscriptions = [this.files, taken, found];
    this.elements.replace(this.nodes());
  }

  getTreeItem({ node }: Element): vscode.TreeItem {
    this.pace.taken();
    const item = new vscode.TreeItem(node.label, COLLAPSIBLE[node.opens]);
    item.id = node.id;
    item.description = node.description;
    item.contextValue = node.context;
    item.accessibilityInformation = { label: node.spoken };
    if (node.icon !== undefined) {
      const color = node.icon.color === undefined ? undefined : new vscode.ThemeColor(node.icon.color);
      item.iconPath = new vscode.ThemeIcon(node.icon.name, color);
    }
    if (node.click !== undefined) {
      item.command = command(node.click);
    }
    return item;
  }

  resolveTreeItem(item: vscode.TreeItem, { node }: Element): vscode.TreeItem {
    item.tooltip = new vscode.MarkdownString(node.tooltip(), true);
    return item;
  }

  async getChildren(element?: Element): Promise<Element[]> {
    if (element === undefined) {
      this.pace.taken();
      return this.elements.roots();
    }
    const runId = element.node.later;
    if (runId !== undefined) {
      await this.history.load(runId);
      this.redraw(element);
    }
    return this.elements.under(element);
  }

  getParent(element: Element): Element | undefined {
    return this.elements.parent(element);
  }

  dispose(): void {
    this.pace.dispose();
    vscode.Disposable.from(...this.subscriptions).dispose();
    this.changed.dispose();
  }

  /** Draws what changed, but for the node whose children are being given just now. */
  private redraw(given?: Element): void {
    const changed = this.elements.replace(this.nodes())?.filter((element) => element !== given);
    if (changed === undefined || changed.length > 0) {
      this.pace.given();
      this.changed.fire(changed);
    }
  }

  private nodes(): TreeNode[] {
    const snapshots = this.services.snapshots.all();
    return goalTree(snapshots, {
      language: vscode.l10n,
      folderName,
      files: untouched(this.files.all(), snapshots),
      earlier: (runId) => this.history.of(runId),
    });
  }
}

/** Goal files without a run or a check. The server may write the same uri with other escapes. */
function untouched(files: readonly GoalFile[], snapshots: readonly Snapshot[]): GoalFile[] {
  const uris = snapshots.flatMap(({ goalUri }) => (goalUri === null ? [] : [vscode.Uri.parse(goalUri).toString()]));
  const known = new Set(uris);
  return files.filter(({ uri }) => !known.has(uri));
}

const COLLAPSIBLE: Readonly<Record<TreeNode['opens'], vscode.TreeItemCollapsibleState>> = {
  never: vscode.TreeItemCollapsibleState.None,
  collapsed: vscode.TreeItemCollapsibleState.Collapsed,
  expanded: vscode.TreeItemCollapsibleState.Expanded,
};

/** Said only where there is more than one folder. */
function folderName(goalUri: string): string | undefined {
  const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  return several ? vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(goalUri))?.name : undefined;
}

function command(click: Click): vscode.Command {
  switch (click.kind) {
    case 'place': {
      const { start, end } = click.range;
      const selection = new vscode.Range(start.line, start.character, end.line, end.character);
      const title = vscode.l10n.t('Open');
      return { command: 'vscode.open', title, arguments: [vscode.Uri.parse(click.uri), { selection, preview: true }] };
    }
    case 'goal':
      return { command: 'donewhen.openGoal', title: vscode.l10n.t('Open Goal'), arguments: [click] };
    case 'evidence':
      return { command: 'donewhen.openEvidence', title: vscode.l10n.t('Open Evidence'), arguments: [click] };
    case 'interrupt':
      return { command: 'donewhen.openInterrupt', title: vscode.l10n.t('Show'), arguments: [click] };
    case 'choice':
      return { command: 'donewhen.interrupt.choose', title: vscode.l10n.t('Answer'), arguments: [click] };
    case 'words':
      return { command: 'donewhen.interrupt.answer', title: vscode.l10n.t('Answer'), arguments: [click] };
    case 'change':
      return { command: 'donewhen.openIterationDiff', title: vscode.l10n.t('Show Changes'), arguments: [click] };
  }
}

/** How many questions wait for a person, on the icon of the view. */
function setBadge(view: vscode.TreeView<Element>, { snapshots }: Services): void {
  const value = snapshots.all().reduce((sum, snapshot) => sum + snapshot.interrupts.length, 0);
  const tooltip = value === 1 ? vscode.l10n.t('1 question is waiting for you') : vscode.l10n.t('{0} questions are waiting for you', value);
  if (view.badge?.value !== (value === 0 ? undefined : value)) {
    view.badge = value === 0 ? undefined : { value, tooltip };
  }
}

interface Given {
  readonly runId?: string;
  readonly findingId?: string;
  readonly goalUri?: string;
  readonly requirementId?: string;
}

function read(about: unknown): Given {
  return typeof about === 'object' && about !== null ? about : {};
}

async function acceptFinding({ client }: Services, about: unknown): Promise<void> {
  const { runId, findingId } = read(about);
  if (runId === undefined || findingId === undefined) {
    return;
  }
  const reason = await vscode.window.showInputBox({
    title: vscode.l10n.t('Accept {0}: why is it right?', findingId),
    prompt: vscode.l10n.t('The reason is kept with the run.'),
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' ? vscode.l10n.t('A reason is needed.') : undefined),
  });
  if (reason !== undefined) {
    await told(client.request('donewhen.run.acceptIntegrity', { runId, findingId, reason }));
  }
}

async function revertFinding({ client }: Services, about: unknown): Promise<void> {
  const { runId, findingId } = read(about);
  if (runId !== undefined && findingId !== undefined) {
    const revert = (more: { force?: boolean }): Promise<Outcome> =>
      client.request('donewhen.run.revert', { runId, findingId, ...more });
    await told(
      revert({}).then((outcome) => {
        tellOrForce(outcome, () => revert({ force: true }));
      }),
    );
  }
}

/** Opens the goal file, at the requirement where one is meant. */
async function openGoal({ snapshots }: Services, about: unknown): Promise<void> {
  const given = read(about);
  const uri = await goalUri(given);
  if (uri === undefined) {
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri, true));
  const requirement = snapshots.get(given.runId ?? '')?.requirements.find((one) => one.id === given.requirementId);
  const at = requirement === undefined ? -1 : document.getText().indexOf(requirement.text);
  const place = document.positionAt(Math.max(0, at));
  await vscode.window.showTextDocument(document, at < 0 ? {} : { selection: new vscode.Range(place, place) });
}

import * as vscode from 'vscode';
import { GOAL_DOCUMENTS } from './goalFiles';
import type { Snapshot } from './protocol';
import type { ServerState, Services } from './services';
import { FITTING, mostRelevant, statusOf } from './snapshots';

type StatusServices = Pick<Services, 'serverState' | 'onDidChangeState' | 'snapshots' | 'problem'>;

/** Where goals and the server stand: in the status bar, beside the language of a goal file, and in `when` clauses. */
export function registerStatus(services: StatusServices): vscode.Disposable {
  const goal = vscode.window.createStatusBarItem('donewhen.goal', vscode.StatusBarAlignment.Left, 50);
  goal.name = vscode.l10n.t('Done When: goal');
  goal.command = 'donewhen.showActions';
  const server = vscode.languages.createLanguageStatusItem('donewhen.server', GOAL_DOCUMENTS);
  server.name = vscode.l10n.t('Done When server');
  const showGoal = (): void => {
    show(goal, services);
    // A window without goals is left alone.
    if (services.serverState() !== 'stopped') {
      goal.show();
    }
  };
  const showBoth = (): void => {
    showGoal();
    showServer(server, services);
  };
  showBoth();
  const told = new Map<string, string>();
  const tellContexts = (): void => {
    for (const [name, value] of Object.entries(contextsOf(services.snapshots.all()))) {
      if (told.get(name) !== JSON.stringify(value)) {
        told.set(name, JSON.stringify(value));
        void vscode.commands.executeCommand('setContext', `donewhen.${name}`, value);
      }
    }
  };
  tellContexts();
  return vscode.Disposable.from(
    goal,
    server,
    services.snapshots.onDidChange(() => {
      showGoal();
      tellContexts();
    }),
    services.onDidChangeState(showBoth),
    vscode.window.onDidChangeActiveTextEditor(showGoal),
  );
}

/** The run that matters: of the folder that is looked at, where it has one. */
export function currentRun(services: Pick<Services, 'snapshots'>): Snapshot | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const goal = uri === undefined ? undefined : services.snapshots.ofGoal(uri.toString());
  const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri);
  return mostRelevant(services.snapshots.all(), folder?.uri.toString(), goal);
}

/** One item: where the goal stands that matters now, and whether another run asks. A click offers what can be done. */
function show(item: vscode.StatusBarItem, services: StatusServices): void {
  const run = currentRun(services);
  if (run === undefined) {
    const words = stateWords(services.serverState());
    item.text = `$(${words.icon}) ${vscode.l10n.t('Goal')}`;
    item.tooltip = services.problem()?.message ?? words.tooltip;
    item.accessibilityInformation = { label: item.tooltip };
    return;
  }
  const { tooltip, spoken } = run.view.status;
  const { icon, text, other } = statusOf(run, services.snapshots.all());
  item.text = `$(${icon}) ${text}`;
  item.tooltip = new vscode.MarkdownString(tooltip, true);
  item.accessibilityInformation = { label: spoken };
  if (other !== undefined) {
    const waits = vscode.l10n.t('“{0}” is waiting for you', other.view.title);
    item.tooltip = new vscode.MarkdownString(`${tooltip}\n\n$(bell-dot) `, true).appendText(waits);
    item.accessibilityInformation = { label: `${spoken}, ${waits}` };
  }
}

function showServer(item: vscode.LanguageStatusItem, { serverState, problem: problemOf }: StatusServices): void {
  const state = serverState();
  const { Error, Warning, Information } = vscode.LanguageStatusSeverity;
  const problem = problemOf();
  item.text = stateWords(state).text;
  item.detail = problem?.message ?? '';
  item.busy = state === 'preparing' || state === 'starting';
  item.severity = state === 'failed' ? Error : problem !== undefined ? Warning : Information;
  item.command =
    problem !== undefined
      ? { command: 'donewhen.showActions', title: vscode.l10n.t('What to Do') }
      : state === 'stopped'
        ? { command: 'donewhen.restartServer', title: vscode.l10n.t('Restart Server') }
        : { command: 'donewhen.showLogs', title: vscode.l10n.t('Show Logs') };
}

function stateWords(state: ServerState): { icon: string; text: string; tooltip: string } {
  const { t } = vscode.l10n;
  return {
    stopped: { icon: 'target', text: t('Done When is stopped'), tooltip: t('Done When is not running.') },
    preparing: { icon: 'loading~spin', text: t('Preparing the Done When server'), tooltip: t('Done When is preparing its server.') },
    starting: { icon: 'loading~spin', text: t('Starting Done When'), tooltip: t('Done When is starting its server.') },
    running: { icon: 'target', text: t('Done When is ready'), tooltip: t('No goal yet. Click to set or start one.') },
    failed: { icon: 'error', text: t('Done When could not start'), tooltip: t('The Done When server could not be started.') },
  }[state];
}

/** What `when` clauses ask: only what can be done is offered. */
function contextsOf(runs: readonly Snapshot[]): Readonly<Record<string, boolean | readonly string[]>> {
  // By path: to a window of a remote machine the same file has another uri than here.
  const active = runs.flatMap(({ view, goalUri }) => (view.active && goalUri !== null ? [vscode.Uri.parse(goalUri)] : []));
  const fitting = Object.entries(FITTING).map(([name, fits]): [string, boolean] => [name, runs.some(fits)]);
  return { ...Object.fromEntries(fitting), activeGoals: active.flatMap((uri) => [uri.fsPath, uri.path]) };
}

import * as vscode from 'vscode';
import { withoutMarks } from './goalNodes';
import { runStatus, tally } from './phrases';
import { possibleActions } from './possibleActions';
import type { Snapshot } from './protocol';
import type { ServerProblem, Services } from './services';
import { asksElsewhere, isAsking, pursuit } from './snapshots';
import { currentRun } from './statusBar';
import { GOALS, isGoalFile, NOT_GOALS, type Target } from './targets';

interface Item extends vscode.QuickPickItem {
  perform(): Thenable<unknown>;
}

/** A click on the status bar: what can be done now, the likeliest first. */
export async function showActions(services: Services, target: Target | undefined): Promise<void> {
  const run = target?.runId === undefined ? currentRun(services) : services.snapshots.get(target.runId);
  const commands = possibleActions(run, {
    trusted: vscode.workspace.isTrusted,
    server: services.client.state,
    goals: run !== undefined || (await goalsHere()),
    pursuit: run && pursuit(run, services.snapshots.all()),
    asksElsewhere: run !== undefined && asksElsewhere(services.snapshots.all(), run) !== undefined,
  });
  const items = commands.map((command): Item => ({
    ...label(command),
    perform: () => vscode.commands.executeCommand(command, about(command, run)),
  }));
  const problem = services.trouble.problem();
  const chosen = await vscode.window.showQuickPick([...remedies(problem), ...items], { title: title(run), placeHolder: problem?.message ?? '' });
  await chosen?.perform();
}

/** What is wrong with the server comes first. */
function remedies(problem: ServerProblem | undefined): Item[] {
  return (problem?.offers ?? []).map((offer) => ({
    label: offer.label,
    iconPath: new vscode.ThemeIcon('wrench'),
    perform: () => offer.perform(),
  }));
}

async function goalsHere(): Promise<boolean> {
  const active = vscode.window.activeTextEditor?.document.uri;
  if (active !== undefined && isGoalFile(active)) {
    return true;
  }
  return (await vscode.workspace.findFiles(GOALS, NOT_GOALS, 1)).length > 0;
}

function title(run: Snapshot | undefined): string {
  if (run === undefined) {
    return vscode.l10n.t('Done When');
  }
  return `${withoutMarks(run.title)} · ${runStatus(run.status, vscode.l10n)} · ${tally(run.counts, vscode.l10n)}`;
}

/** Commands that concern the run get it; those that concern goals in general choose for themselves. */
function about(command: string, run: Snapshot | undefined): Target | undefined {
  const general = ['donewhen.setGoal', 'donewhen.restartServer', 'donewhen.showLogs', 'workbench.trust.manage'];
  const another = command === 'donewhen.answer' && run !== undefined && !isAsking(run);
  return run === undefined || another || general.includes(command) ? undefined : { runId: run.runId, goalUri: run.goalUri };
}

function label(command: string): vscode.QuickPickItem {
  const labels: Readonly<Record<string, [string, string]>> = {
    'donewhen.answer': ['bell-dot', vscode.l10n.t('Answer Question')],
    'donewhen.start': ['play', vscode.l10n.t('Start')],
    'donewhen.checkNow': ['beaker', vscode.l10n.t('Check Now')],
    'donewhen.pause': ['debug-pause', vscode.l10n.t('Pause')],
    'donewhen.installModels': ['cloud-download', vscode.l10n.t('Install Model Support')],
    'donewhen.resume': ['debug-continue', vscode.l10n.t('Resume')],
    'donewhen.stop': ['debug-stop', vscode.l10n.t('Stop')],
    'donewhen.guard': ['shield', vscode.l10n.t('Guard')],
    'donewhen.liftGuard': ['shield', vscode.l10n.t('Lift Guard')],
    'donewhen.openGoal': ['go-to-file', vscode.l10n.t('Open the Goal')],
    'donewhen.reviewChanges': ['diff', vscode.l10n.t('Review Changes')],
    'donewhen.commit': ['git-commit', vscode.l10n.t('Commit…')],
    'donewhen.copyReceipt': ['copy', vscode.l10n.t('Copy Receipt')],
    'donewhen.report': ['output', vscode.l10n.t('Report')],
    'donewhen.showTimeline': ['graph-line', vscode.l10n.t('Show Timeline')],
    'donewhen.revertToIteration': ['discard', vscode.l10n.t('Revert to Iteration')],
    'donewhen.waive': ['circle-slash', vscode.l10n.t('Waive a Requirement')],
    'donewhen.setGoal': ['add', vscode.l10n.t('Set Goal')],
    'donewhen.restartServer': ['refresh', vscode.l10n.t('Restart Server')],
    'donewhen.showLogs': ['list-flat', vscode.l10n.t('Show Logs')],
    'workbench.trust.manage': ['workspace-untrusted', vscode.l10n.t('Manage Workspace Trust')],
  };
  const [icon, text] = labels[command] ?? ['circle', command];
  // Not in the label: a screen reader would spell it out.
  return { label: text, iconPath: new vscode.ThemeIcon(icon) };
}

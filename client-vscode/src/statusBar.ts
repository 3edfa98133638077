import * as vscode from 'vscode';
import type { Snapshot } from './protocol';
import type { Services } from './services';
import { asksElsewhere, mostRelevant } from './snapshots';
import { statusText } from './statusText';
import { spokenStatus, statusTooltip } from './statusTooltip';

/** One item: where the goal stands that matters now. A click offers what can be done. */
export function registerStatusBar(services: Services): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('donewhen.goal', vscode.StatusBarAlignment.Left, 50);
  item.name = vscode.l10n.t('Done When: goal');
  item.command = 'donewhen.showActions';
  const update = (): void => {
    show(item, services);
    // A window without goals is left alone.
    if (services.client.state !== 'stopped') {
      item.show();
    }
  };
  update();
  return vscode.Disposable.from(
    item,
    vscode.Disposable.from(services.snapshots.onDidChange(update)),
    services.client.onDidChangeState(update),
    vscode.window.onDidChangeActiveTextEditor(update),
  );
}

function show(item: vscode.StatusBarItem, services: Services): void {
  const snapshot = currentRun(services);
  if (snapshot === undefined) {
    showServer(item, services);
    return;
  }
  const other = asksElsewhere(services.snapshots.all(), snapshot);
  item.text = statusText(snapshot, vscode.l10n.t, other);
  item.tooltip = new vscode.MarkdownString(statusTooltip(snapshot, vscode.l10n, other), true);
  item.accessibilityInformation = { label: spokenStatus(snapshot, vscode.l10n, other) };
}

function showServer(item: vscode.StatusBarItem, services: Services): void {
  const { state } = services.client;
  const starting = state === 'preparing' || state === 'starting';
  item.text = starting
    ? `$(loading~spin) ${vscode.l10n.t('Goal')}`
    : `$(${state === 'failed' ? 'error' : 'target'}) ${vscode.l10n.t('Goal')}`;
  const problem = services.trouble.problem();
  item.tooltip = problem?.message ?? {
    stopped: vscode.l10n.t('Done When is not running.'),
    preparing: vscode.l10n.t('Done When is preparing its server.'),
    starting: vscode.l10n.t('Done When is starting its server.'),
    running: vscode.l10n.t('No goal yet. Click to set or start one.'),
    failed: vscode.l10n.t('The Done When server could not be started.'),
  }[state];
  item.accessibilityInformation = { label: item.tooltip };
}

/** The run that matters: of the folder that is looked at, where it has one. */
export function currentRun(services: Services): Snapshot | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const goal = uri === undefined ? undefined : services.snapshots.ofGoal(uri.toString());
  const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri);
  return mostRelevant(services.snapshots.all(), folder?.uri.toString(), goal);
}

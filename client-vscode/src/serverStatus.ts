import * as vscode from 'vscode';
import type { Services, ServerState } from './services';

/** How the server is, beside the language of a goal file. */
export function registerServerStatus(services: Services): vscode.Disposable {
  const goals = [
    { scheme: 'file', pattern: '**/GOAL.md' },
    { scheme: 'file', pattern: '**/*.goal.md' },
  ];
  const item = vscode.languages.createLanguageStatusItem('donewhen.server', goals);
  item.name = vscode.l10n.t('Done When server');
  const update = (state: ServerState): void => {
    const problem = services.trouble.problem();
    item.text = words(state);
    item.detail = problem?.message ?? '';
    item.busy = state === 'preparing' || state === 'starting';
    item.severity = severity(state, problem !== undefined);
    item.command =
      problem !== undefined
        ? { command: 'donewhen.showActions', title: vscode.l10n.t('What to Do') }
        : state === 'stopped'
          ? { command: 'donewhen.restartServer', title: vscode.l10n.t('Restart Server') }
          : { command: 'donewhen.showLogs', title: vscode.l10n.t('Show Logs') };
  };
  update(services.client.state);
  return vscode.Disposable.from(item, services.client.onDidChangeState(update));
}

function severity(state: ServerState, stands: boolean): vscode.LanguageStatusSeverity {
  const { Error, Warning, Information } = vscode.LanguageStatusSeverity;
  return state === 'failed' ? Error : stands ? Warning : Information;
}

function words(state: ServerState): string {
  return {
    stopped: vscode.l10n.t('Done When is stopped'),
    preparing: vscode.l10n.t('Preparing the Done When server'),
    starting: vscode.l10n.t('Starting Done When'),
    running: vscode.l10n.t('Done When is ready'),
    failed: vscode.l10n.t('Done When could not start'),
  }[state];
}

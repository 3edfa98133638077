import * as vscode from 'vscode';
import type { Services } from './services';
import { canGoOn, isActive, isAsking, isGuardable, isGuarded } from './snapshots';

/** What `when` clauses ask: only what can be done is offered. */
export function registerContext(services: Services): vscode.Disposable {
  const told = new Map<string, string>();
  const tell = (name: string, value: boolean | readonly string[]): void => {
    if (told.get(name) !== JSON.stringify(value)) {
      told.set(name, JSON.stringify(value));
      void vscode.commands.executeCommand('setContext', `donewhen.${name}`, value);
    }
  };
  const update = (): void => {
    const runs = services.snapshots.all();
    tell('runs', runs.length > 0);
    tell('active', runs.some((run) => isActive(run)));
    // By path: to a window of a remote machine the same file has another uri than here.
    const active = runs.flatMap((run) => (isActive(run) && run.goalUri !== null ? [vscode.Uri.parse(run.goalUri)] : []));
    tell('activeGoals', active.flatMap((uri) => [uri.fsPath, uri.path]));
    tell('resumable', runs.some((run) => canGoOn(run)));
    tell('guardable', runs.some((run) => isGuardable(run)));
    tell('complete', runs.some((run) => run.status === 'complete'));
    tell('guarded', runs.some((run) => isGuarded(run)));
    tell('judged', runs.some((run) => run.judge !== null));
    tell('asks', runs.some((run) => isAsking(run)));
  };
  update();
  return vscode.Disposable.from(services.snapshots.onDidChange(update));
}

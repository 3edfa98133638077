import * as vscode from 'vscode';
import { label } from './askedText';
import { withoutMarks } from './goalNodes';
import { say } from './notices';
import { requirementStatus, runStatus, tally } from './phrases';
import type { Requirement, Snapshot } from './protocol';
import type { Services } from './services';
import { pursuit } from './snapshots';
import { currentRun } from './statusBar';

/** What a command is about: an item of the view, or nothing where it comes from the palette. */
export interface Target {
  readonly runId?: string;
  readonly goalUri?: string | null;
  readonly interruptId?: string;
  readonly requirementId?: string;
  readonly iteration?: number;
}

export const GOALS = '**/{GOAL.md,*.goal.md}';
export const NOT_GOALS = '**/{node_modules,.venv,venv,.git}/**';

export function isGoalFile(uri: vscode.Uri): boolean {
  return uri.scheme === 'file' && /(^|\/)(GOAL\.md|[^/]*\.goal\.md)$/.test(uri.path);
}

/** The goal file that is meant: the target's, the one in the editor, the only one, or the one that a person picks. */
export async function goalUri(target: Target | undefined): Promise<string | undefined> {
  if (typeof target?.goalUri === 'string') {
    return target.goalUri;
  }
  const active = vscode.window.activeTextEditor?.document.uri;
  if (active !== undefined && isGoalFile(active)) {
    return active.toString();
  }
  if (!hasFolder()) {
    return undefined;
  }
  const found = await vscode.workspace.findFiles(GOALS, NOT_GOALS, 200);
  if (found.length === 0) {
    offerToSet();
    return undefined;
  }
  return found.length === 1 ? found[0]?.toString() : pickGoal(found);
}

/** Whether a folder is open; where none is, that is said. */
export function hasFolder(): boolean {
  if ((vscode.workspace.workspaceFolders ?? []).length > 0) {
    return true;
  }
  const perform = (): Thenable<unknown> => vscode.commands.executeCommand('workbench.action.files.openFolder');
  const message = vscode.l10n.t('A goal belongs to a folder. Open one first.');
  say('information', message, { buttons: [{ label: vscode.l10n.t('Open Folder'), perform }] });
  return false;
}

function offerToSet(): void {
  const perform = (): Thenable<unknown> => vscode.commands.executeCommand('donewhen.setGoal');
  const message = vscode.l10n.t('There is no goal file here yet.');
  say('information', message, { buttons: [{ label: vscode.l10n.t('Set Goal'), perform }] });
}

async function pickGoal(found: readonly vscode.Uri[]): Promise<string | undefined> {
  const items = found
    .map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri: uri.toString() }))
    .sort((one, other) => one.label.localeCompare(other.label));
  return (await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Which goal?') }))?.uri;
}

/** The run that is meant: the target's, the only one that fits, or the one that a person picks. */
export async function pickRun(
  services: Services,
  target: Target | undefined,
  fits: (snapshot: Snapshot) => boolean,
  none: string,
): Promise<Snapshot | undefined> {
  const named = namedRun(services, target, fits);
  if (named !== undefined) {
    return named;
  }
  const found = services.snapshots.all().filter(fits);
  const current = currentRun(services);
  if (current !== undefined && found.includes(current) && found.length > 0) {
    return current;
  }
  if (found.length <= 1) {
    if (found.length === 0) {
      say('information', none);
    }
    return found[0];
  }
  const items = found.map((snapshot) => ({ label: label(snapshot.title), description: describe(snapshot), snapshot }));
  return (await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Which run?') }))?.snapshot;
}

/** The run that is named; for a check, the run that was checked, where that is what fits. */
function namedRun(
  { snapshots }: Services,
  target: Target | undefined,
  fits: (snapshot: Snapshot) => boolean,
): Snapshot | undefined {
  const named = target?.runId === undefined ? undefined : snapshots.get(target.runId);
  const run = named && pursuit(named, snapshots.all());
  return named !== undefined && !fits(named) && run !== undefined && fits(run) ? run : named;
}

function describe(snapshot: Snapshot): string {
  return `${runStatus(snapshot.status, vscode.l10n)} · ${tally(snapshot.counts, vscode.l10n)}`;
}

/** A requirement of the run: the target's, or the one that a person picks. */
export async function pickRequirement(
  snapshot: Snapshot,
  target: Target | undefined,
  fits: (requirement: Requirement) => boolean,
  title: string,
): Promise<Requirement | undefined> {
  const named = snapshot.requirements.find((one) => one.id === target?.requirementId);
  if (named !== undefined) {
    return named;
  }
  const items = snapshot.requirements
    .filter(fits)
    .map((one) => ({
      label: label(`R${one.number} ${withoutMarks(one.text)}`),
      description: requirementStatus(one.status, vscode.l10n),
      detail: label(withoutMarks(one.reason)),
      one,
    }));
  if (items.length === 0) {
    say('information', vscode.l10n.t('No requirement can be chosen for this.'));
    return undefined;
  }
  return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true }))?.one;
}

export function askReason(title: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title,
    prompt: vscode.l10n.t('The reason is kept with the run.'),
    ignoreFocusOut: true,
    validateInput: (given) => (given.trim() === '' ? vscode.l10n.t('A reason is needed.') : undefined),
  });
}

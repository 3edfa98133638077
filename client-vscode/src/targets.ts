import * as vscode from 'vscode';
import { findGoals, isGoalFile } from './goalFiles';
import { say } from './notices';
import { label } from './plainText';
import type { RequirementShown, Snapshot } from './protocol';
import type { Services } from './services';
import { pursuit } from './snapshots';
import { currentRun } from './status';

/** What a command is about: an item of the view, a lens, a part of the timeline; or nothing where it comes from the palette. */
export interface Target {
  readonly runId?: string;
  readonly goalUri?: string | null;
  readonly interruptId?: string;
  readonly requirementId?: string;
  readonly findingId?: string;
  readonly iteration?: number;
  readonly choice?: number;
  readonly evidenceId?: string;
  readonly stepId?: string;
  readonly diff?: boolean;
  readonly path?: string;
  readonly uri?: string;
  /** Beside what the person looks at, and without the focus. */
  readonly aside?: boolean;
}

/** Nothing is executed before a person trusts the workspace. */
export function trusted(): boolean {
  if (!vscode.workspace.isTrusted) {
    offer('warning', vscode.l10n.t('Goals run commands of this workspace. Trust it first.'), vscode.l10n.t('Manage Trust'), 'workbench.trust.manage');
  }
  return vscode.workspace.isTrusted;
}

/** Whether a folder is open; where none is, that is said. */
export function hasFolder(): boolean {
  if ((vscode.workspace.workspaceFolders ?? []).length > 0) {
    return true;
  }
  const message = vscode.l10n.t('A goal belongs to a folder. Open one first.');
  offer('information', message, vscode.l10n.t('Open Folder'), 'workbench.action.files.openFolder');
  return false;
}

function offer(kind: 'information' | 'warning', message: string, button: string, command: string): void {
  say(kind, message, { buttons: [{ label: button, perform: () => vscode.commands.executeCommand(command) }] });
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
  const found = await findGoals();
  if (found.length === 0) {
    offer('information', vscode.l10n.t('There is no goal file here yet.'), vscode.l10n.t('Set Goal'), 'donewhen.setGoal');
    return undefined;
  }
  const items = found.map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri: uri.toString() }));
  return found.length === 1 ? items[0]?.uri : (await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Which goal?') }))?.uri;
}

/** The run that is meant: the target's, the only one that fits, or the one that a person picks. */
export async function pickRun(
  services: Pick<Services, 'snapshots'>,
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
  if (current !== undefined && found.includes(current)) {
    return current;
  }
  const item = (run: Snapshot) => ({ label: label(run.title), description: `${run.view.state} · ${run.view.tally}` });
  return pickOne(found, { none, title: vscode.l10n.t('Which run?'), item });
}

interface OneOf<T> {
  /** What is said where there is none. */
  readonly none: string;
  readonly title: string;
  readonly item: (one: T) => vscode.QuickPickItem;
}

/** The only one, or the one that a person picks. */
export async function pickOne<T>(all: readonly T[], { none, title, item }: OneOf<T>): Promise<T | undefined> {
  if (all.length === 0) {
    say('information', none);
  }
  return all.length <= 1 ? all[0] : (await vscode.window.showQuickPick(all.map((one) => ({ ...item(one), one })), { title }))?.one;
}

/** The run that is named; for a check, the run that was checked, where that is what fits. */
function namedRun({ snapshots }: Pick<Services, 'snapshots'>, target: Target | undefined, fits: (snapshot: Snapshot) => boolean): Snapshot | undefined {
  const named = target?.runId === undefined ? undefined : snapshots.get(target.runId);
  const run = named && pursuit(named, snapshots.all());
  return named !== undefined && !fits(named) && run !== undefined && fits(run) ? run : named;
}

/** A run and a requirement of it: the target's, or those that a person picks. */
export async function pickRequirement(
  services: Pick<Services, 'snapshots'>,
  target: Target | undefined,
  fits: (requirement: RequirementShown) => boolean,
  title: string,
): Promise<{ runId: string; requirementId: string } | undefined> {
  const none = vscode.l10n.t('No requirement can be chosen for this.');
  const run = await pickRun(services, target, ({ view }) => view.requirements.some(fits), none);
  if (run === undefined) {
    return undefined;
  }
  const { runId, view } = run;
  const named = view.requirements.find(({ id }) => id === target?.requirementId);
  if (named !== undefined) {
    return { runId, requirementId: named.id };
  }
  const items = view.requirements.filter(fits).map((one) => ({ label: label(one.label), description: one.status, detail: label(one.why), id: one.id }));
  if (items.length === 0) {
    say('information', none);
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(items, { title, matchOnDetail: true });
  return picked && { runId, requirementId: picked.id };
}

/** A number greater than 0; undefined where the person leaves. Without `required`, an empty box is `unlimited`. */
export async function askNumber(title: string, proposed: number | null): Promise<number | 'unlimited' | undefined>;
export async function askNumber(title: string, proposed: number, required: true): Promise<number | undefined>;
export async function askNumber(title: string, proposed: number | null, required = false): Promise<number | 'unlimited' | undefined> {
  const given = await vscode.window.showInputBox({
    title,
    value: proposed === null ? '' : String(proposed),
    ...(required ? {} : { prompt: vscode.l10n.t('Leave it empty for no limit.'), ignoreFocusOut: true }),
    validateInput: (text) =>
      (!required && text.trim() === '') || Number(text) > 0 ? undefined : vscode.l10n.t('A number greater than 0'),
  });
  return given === undefined ? undefined : given.trim() === '' ? 'unlimited' : Number(given);
}

import * as vscode from 'vscode';
import { oneAtATime } from './alreadyRunning';
import { label } from './askedText';
import { text } from './configuration';
import { startAndAsk, until } from './consent';
import { saveGoal } from './goalDocument';
import { onGoal } from './goalProblem';
import { say } from './notices';
import { tally } from './phrases';
import type { CommandResults, Requirement, RunLimitsArgument, Snapshot } from './protocol';
import { tellReverted } from './reverting';
import type { Services } from './services';
import { canGoOn, isActive, isDisputable, isGuardable, isGuarded, isResumable } from './snapshots';
import { askReason, goalUri, pickRequirement, pickRun, type Target } from './targets';

export async function start(services: Services, target: Target | undefined): Promise<void> {
  const uri = await goalUri(target);
  if (uri !== undefined && trusted()) {
    await saveGoal(uri);
    // A run begins with the settings as they are then, such as the model that was just chosen for it.
    await services.client.settled();
    const begun = await startAndAsk(services, uri, async (limits) => {
      let run: { readonly runId: string } | undefined;
      const begin = async (): Promise<void> => {
        run = await services.client.request('donewhen.run.start', { goalUri: uri, ...limits });
      };
      await onGoal(uri, () => oneAtATime(services, uri, begin));
      return run;
    });
    if (begun !== undefined && text('showTimelineOnStart') === 'agent') {
      await showWork(services, begun.runId);
    }
  }
}

/** Shows what a worker does, once it works: beside what the person looks at, who may go on typing. A person sees it anyway. */
async function showWork(services: Services, runId: string): Promise<void> {
  const run = await until(services, runId, (one) => one.iteration > 0 || !isActive(one));
  if (isActive(run) && run.worker !== 'human') {
    await vscode.commands.executeCommand('donewhen.showTimeline', { runId, aside: true });
  }
}

export async function checkNow(services: Services, target: Target | undefined): Promise<void> {
  const uri = await goalUri(target);
  if (uri === undefined || !trusted()) {
    return;
  }
  await saveGoal(uri);
  const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Checking the goal') };
  const check = () => services.client.request('donewhen.goal.check', { goalUri: uri });
  const snapshot = await onGoal(uri, async () => vscode.window.withProgress(options, check));
  const said = tally(snapshot.counts, vscode.l10n);
  vscode.window.setStatusBarMessage(snapshot.missing === '' ? said : `${said}: ${label(snapshot.missing)}`, 8_000);
}

export async function pause(services: Services, target: Target | undefined): Promise<void> {
  const run = await pickRun(services, target, isActive, vscode.l10n.t('There is no run to pause.'));
  if (run !== undefined) {
    await services.client.request('donewhen.run.pause', { runId: run.runId });
  }
}

export async function stop(services: Services, target: Target | undefined): Promise<void> {
  const fits = (one: Snapshot): boolean => isActive(one) || isResumable(one);
  const run = await pickRun(services, target, fits, vscode.l10n.t('There is no run to stop.'));
  if (run !== undefined) {
    await services.client.request('donewhen.run.stop', { runId: run.runId });
  }
}

/** Keeps a complete goal on guard: its checks run again after each edit, until the guard is lifted. */
export async function guard(services: Services, target: Target | undefined): Promise<void> {
  const run = await pickRun(services, target, isGuardable, vscode.l10n.t('There is no complete goal to guard.'));
  if (run !== undefined && trusted()) {
    await services.client.request('donewhen.run.guard', { runId: run.runId, on: true });
  }
}

export async function liftGuard(services: Services, target: Target | undefined): Promise<void> {
  const run = await pickRun(services, target, isGuarded, vscode.l10n.t('No goal is on guard.'));
  if (run !== undefined) {
    await services.client.request('donewhen.run.guard', { runId: run.runId, on: false });
  }
}

/** A capped run may go on too, with more iterations; the same for time, money and tokens. */
export async function resume(services: Services, target: Target | undefined): Promise<void> {
  const none = vscode.l10n.t('There is no run to resume.');
  const run = await pickRun(services, target, canGoOn, none);
  if (run === undefined || !trusted()) {
    return;
  }
  const raised = await raisedLimit(run);
  if (raised !== undefined) {
    const { runId, goalUri } = run;
    await oneAtATime(services, goalUri, () => services.client.request('donewhen.run.resume', { runId, ...raised }));
  }
}

type Raised = Pick<RunLimitsArgument, 'maxIterations' | 'timeoutSeconds' | 'budgetUsd' | 'tokenBudget'>;

/** The limit that ended the run, raised; empty where none did. */
async function raisedLimit(run: Snapshot): Promise<Raised | undefined> {
  if (run.status === 'capped') {
    const given = await askNumber(vscode.l10n.t('Iterations at most'), (run.limits.maxIterations ?? 10) + 5);
    return given === undefined ? undefined : { maxIterations: Math.round(given) };
  }
  if (run.status === 'timed_out') {
    const minutes = Math.ceil((run.limits.timeoutSeconds ?? 3_600) / 60);
    const given = await askNumber(vscode.l10n.t('Minutes at most, the ones before included'), minutes + 30);
    return given === undefined ? undefined : { timeoutSeconds: given * 60 };
  }
  return run.status === 'over_budget' ? raisedBudget(run) : {};
}

async function raisedBudget(run: Snapshot): Promise<Raised | undefined> {
  if (run.limits.budgetUsd !== null) {
    const given = await askNumber(vscode.l10n.t('US dollars at most'), run.limits.budgetUsd * 2);
    return given === undefined ? undefined : { budgetUsd: given };
  }
  const given = await askNumber(vscode.l10n.t('Tokens at most'), (run.limits.tokenBudget ?? 100_000) * 2);
  return given === undefined ? undefined : { tokenBudget: Math.round(given) };
}

async function askNumber(title: string, proposed: number): Promise<number | undefined> {
  const given = await vscode.window.showInputBox({
    title,
    value: String(proposed),
    validateInput: (text) => (Number(text) > 0 ? undefined : vscode.l10n.t('A number greater than 0')),
  });
  return given === undefined ? undefined : Number(given);
}

export async function report(services: Services, target: Target | undefined): Promise<void> {
  const run = await pickRun(services, target, () => true, vscode.l10n.t('No goal has been started here yet.'));
  if (run !== undefined) {
    await vscode.commands.executeCommand('donewhen.openReport', { runId: run.runId });
  }
}

export async function waive(services: Services, target: Target | undefined): Promise<void> {
  const fits = (_: Snapshot, one: Requirement): boolean => one.status !== 'met' && one.status !== 'waived';
  const title = vscode.l10n.t('Which requirement do you want to waive?');
  const chosen = await runAndRequirement(services, target, fits, title);
  const reason = chosen && (await askReason(vscode.l10n.t('Why does it need no proof?')));
  if (chosen !== undefined && reason !== undefined) {
    const run = await services.client.request('donewhen.run.override', { ...chosen, reason });
    if (canGoOn(run) && run.requirements.every((one) => one.status === 'met' || one.status === 'waived')) {
      offerToComplete(services, run);
    }
  }
}

/** A run that has halted or ended looks at what a person decided since only when it goes on. */
function offerToComplete(services: Services, run: Snapshot): void {
  const go = { label: vscode.l10n.t('Resume'), perform: () => resume(services, { runId: run.runId }) };
  const message = vscode.l10n.t('Nothing is left to prove for “{0}”. Resume the run to complete it.', label(run.title));
  say('information', message, { buttons: [go] });
}

export async function unwaive(services: Services, target: Target | undefined): Promise<void> {
  const fits = (_: Snapshot, one: Requirement): boolean => one.status === 'waived';
  const chosen = await runAndRequirement(services, target, fits, vscode.l10n.t('Which requirement should be proven again?'));
  if (chosen !== undefined) {
    const reason = vscode.l10n.t('undone in the editor');
    await services.client.request('donewhen.run.override', { ...chosen, reason, undo: true });
  }
}

export async function dispute(services: Services, target: Target | undefined): Promise<void> {
  const chosen = await runAndRequirement(services, target, isDisputable, vscode.l10n.t('Which verdict is wrong?'));
  const reason = chosen && (await askReason(vscode.l10n.t('What should the judge look at again?')));
  if (chosen !== undefined && reason !== undefined && trusted()) {
    await services.client.request('donewhen.run.dispute', { ...chosen, reason });
  }
}

async function runAndRequirement(
  services: Services,
  target: Target | undefined,
  fits: (run: Snapshot, requirement: Requirement) => boolean,
  title: string,
): Promise<{ runId: string; requirementId: string } | undefined> {
  const holds = (one: Snapshot): boolean => one.requirements.some((each) => fits(one, each));
  const run = await pickRun(services, target, holds, vscode.l10n.t('No requirement can be chosen for this.'));
  const requirement = run && (await pickRequirement(run, target, (one) => fits(run, one), title));
  return run === undefined || requirement === undefined ? undefined : { runId: run.runId, requirementId: requirement.id };
}

/** Puts the files back as they were after an iteration. */
export async function revertToIteration(services: Services, target: Target | undefined): Promise<void> {
  const none = vscode.l10n.t('There is no iteration to revert to.');
  const run = await pickRun(services, target, (one) => one.iterations.length > 0, none);
  const iteration = target?.iteration ?? (run && (await pickIteration(run)));
  if (run === undefined || iteration === undefined || !trusted()) {
    return;
  }
  const outcome = await services.client.request('donewhen.run.revert', { runId: run.runId, iteration });
  tellIteration(services, { runId: run.runId, iteration }, outcome);
}

/** Where a person edited since, it asks before their edits go too. */
function tellIteration(
  services: Services,
  about: { runId: string; iteration: number },
  outcome: CommandResults['donewhen.run.revert'],
): void {
  const { length } = outcome.changedFiles;
  const told = vscode.l10n.t('{0} files are back as they were after iteration {1}.', length, about.iteration);
  tellReverted(outcome, told, async () => {
    tellIteration(services, about, await services.client.request('donewhen.run.revert', { ...about, force: true }));
  });
}

async function pickIteration(run: Snapshot): Promise<number | undefined> {
  const items = [...run.iterations].reverse().map((one) => ({
    label: vscode.l10n.t('Iteration {0}', one.number),
    description: vscode.l10n.t('{0} of {1} met, {2} files changed', one.met, one.total, one.changedFiles.length),
    detail: label(one.summary),
    number: one.number,
  }));
  const title = vscode.l10n.t('Restore the files as they were after…');
  return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true }))?.number;
}

/** Nothing is executed before a person trusts the workspace. */
export function trusted(): boolean {
  if (!vscode.workspace.isTrusted) {
    const perform = (): Thenable<unknown> => vscode.commands.executeCommand('workbench.trust.manage');
    const message = vscode.l10n.t('Goals run commands of this workspace. Trust it first.');
    say('warning', message, { buttons: [{ label: vscode.l10n.t('Manage Trust'), perform }] });
  }
  return vscode.workspace.isTrusted;
}

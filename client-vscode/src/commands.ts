import * as vscode from 'vscode';
import { addCheck, chooseJudge } from './amending';
import { compareAttempts } from './attempts';
import { askReason } from './asking';
import { askForModels, chooseModels, chooseWorker, setAddress } from './choosing';
import { type Limits, startAndAsk, until } from './consent';
import { ownText, text } from './configuration';
import { fileUri, openChanges, openReport } from './documents';
import { checkGoal, findGoals, isGoalFile, saveGoal } from './goalFiles';
import { answer, answerWith, choose } from './interrupts';
import { confirm, say } from './notices';
import { harmless, label } from './plainText';
import type { CommandArguments, CommandResults, Repair, Snapshot } from './protocol';
import { copyReceipt, saveReceipt } from './receipts';
import { keyName } from './secrets';
import type { Offer, Services } from './services';
import { fixThis, type Fixable, registerFixThis, setGoal } from './setGoal';
import { actionsOf, asksElsewhere, FITTING } from './snapshots';
import { currentRun } from './status';
import { askNumber, goalUri, pickRequirement, pickRun, type Target, trusted } from './targets';
import { dataOf } from './trouble';

type Perform = (services: Services, target: Target | undefined) => Promise<void>;

const COMMANDS: Readonly<Record<string, Perform>> = {
  'donewhen.setGoal': setGoal,
  'donewhen.start': start,
  'donewhen.checkNow': checkNow,
  'donewhen.pause': ofRun(FITTING.active, () => vscode.l10n.t('There is no run to pause.'), async ({ request }, { runId }) => {
    await request('donewhen.run.pause', { runId });
  }),
  'donewhen.resume': ofRun(FITTING.resumable, () => vscode.l10n.t('There is no run to resume.'), resume),
  'donewhen.takeOver': ofRun(FITTING.takeOver, () => vscode.l10n.t('There is no run to take over.'), takeOver),
  'donewhen.stop': ofRun((run) => run.view.unfinished, () => vscode.l10n.t('There is no run to stop.'), async ({ request }, { runId }) => {
    await request('donewhen.run.stop', { runId });
  }),
  'donewhen.guard': ofRun(FITTING.guardable, () => vscode.l10n.t('There is no complete goal to guard.'), async ({ request }, { runId }) => {
    if (trusted()) {
      await request('donewhen.run.guard', { runId, on: true });
    }
  }),
  'donewhen.liftGuard': ofRun(FITTING.guarded, () => vscode.l10n.t('No goal is on guard.'), async ({ request }, { runId }) => {
    await request('donewhen.run.guard', { runId, on: false });
  }),
  'donewhen.addCheck': addCheck,
  'donewhen.chooseJudge': chooseJudge,
  'donewhen.answer': answer,
  'donewhen.interrupt.approve': answerWith('approve'),
  'donewhen.interrupt.deny': answerWith('deny'),
  'donewhen.interrupt.edit': answerWith('edit'),
  'donewhen.interrupt.choose': choose,
  'donewhen.interrupt.words': answerWith('text'),
  'donewhen.reviewChanges': ofRun(hasWorker, () => vscode.l10n.t('No run has changed anything here yet.'), reviewChanges),
  'donewhen.rejectFiles': ofRun(hasWorker, () => vscode.l10n.t('No run has changed anything here yet.'), rejectFiles),
  'donewhen.compareAttempts': compareAttempts,
  'donewhen.commit': ofCompleteRun(commit),
  'donewhen.copyReceipt': ofCompleteRun(copyReceipt),
  'donewhen.saveReceipt': ofRun(FITTING.runs, () => vscode.l10n.t('No goal has been started here yet.'), saveReceipt),
  'donewhen.report': ofRun(FITTING.runs, () => vscode.l10n.t('No goal has been started here yet.'), openReport),
  'donewhen.revertToIteration': revertToIteration,
  'donewhen.waive': waive,
  'donewhen.unwaive': unwaive,
  'donewhen.dispute': dispute,
  'donewhen.finding.accept': acceptFinding,
  'donewhen.finding.revert': revertFinding,
  'donewhen.openGoal': openGoal,
  'donewhen.chooseWorker': chooseWorker,
  // A run keeps its models: with others, a new one begins.
  'donewhen.chooseModels': repairing('chooseModels', chooseModels, 'donewhen.start'),
  'donewhen.setApiKey': repairing('setApiKey', ({ keys }, { model, role }) => {
    const own = ownText(role === 'judge' ? 'judgeApiBase' : 'apiBase') !== '';
    return keys.ask(model == null ? undefined : keyName(model, role ?? 'worker', own));
  }),
  'donewhen.setAddress': repairing('setAddress', (_, { role }) => setAddress(role ?? null)),
  'donewhen.restoreGoal': repairing('restoreGoal', restoreGoal),
  'donewhen.showActions': showActions,
};

/** All commands of the palette and the menus but those that open documents, and the timeline. */
export function registerCommands(services: Services): vscode.Disposable {
  const { registerCommand } = vscode.commands;
  // A command never throws at the editor: what goes wrong is said in a sentence.
  const told = async (perform: () => Promise<void>): Promise<void> => {
    try {
      await perform();
    } catch (problem) {
      services.tell(problem, perform);
    }
  };
  const listed = Object.entries(COMMANDS).map(([id, perform]) =>
    registerCommand(id, (target: Target | undefined) => {
      services.want();
      return told(() => perform(services, target));
    }),
  );
  return vscode.Disposable.from(
    ...listed,
    registerFixThis(),
    registerCommand('donewhen.fixThis', (what: Fixable) => {
      services.want();
      return told(() => fixThis(services, what));
    }),
    registerCommand('donewhen.installModels', (target: Target | undefined) => told(() => installModels(services, target))),
    registerCommand('donewhen.restartServer', () => services.restart()),
    registerCommand('donewhen.showLogs', () => {
      services.log.show();
    }),
  );
}

/** What a person does about why a run stands still; done for a run, that goes on, by the questions of any resume or start. */
function repairing(
  action: string,
  perform: (services: Services, repair: Partial<Repair>, run: Snapshot | undefined) => Promise<boolean>,
  next = 'donewhen.resume',
): Perform {
  return async (services, target) => {
    const run = target?.runId === undefined ? undefined : services.snapshots.get(target.runId);
    const repair = run?.view.repairs.find((one) => one.action === action);
    if ((await perform(services, repair ?? {}, run)) && run !== undefined && repair !== undefined) {
      await services.settled();
      await vscode.commands.executeCommand(next, { runId: run.runId, goalUri: run.goalUri });
    }
  };
}

/** The goal file is put back as it was when it was last seen. */
async function restoreGoal({ request }: Services, { iteration }: Partial<Repair>, run: Snapshot | undefined): Promise<boolean> {
  if (typeof run?.goalUri !== 'string' || !trusted()) {
    return false;
  }
  await request('donewhen.run.revert', { runId: run.runId, iteration: iteration ?? 0, uris: [run.goalUri], force: true });
  return true;
}

/** A command of the run that is meant. */
function ofRun(fits: (run: Snapshot) => boolean, none: () => string, perform: (services: Services, run: Snapshot) => Promise<void>): Perform {
  return async (services, target) => {
    const run = await pickRun(services, target, fits, none());
    if (run !== undefined) {
      await perform(services, run);
    }
  };
}

/** A check alone changes nothing. */
function hasWorker({ worker }: Snapshot): boolean {
  return worker !== null;
}

function ofCompleteRun(perform: (services: Services, run: Snapshot) => Promise<void>): Perform {
  return ofRun(FITTING.complete, () => vscode.l10n.t('No goal is complete here yet.'), perform);
}

/** A run that stood for want of it goes on. */
async function installModels(services: Services, target: Target | undefined): Promise<void> {
  await services.installModels();
  const stands = services.snapshots.all().find(({ runId, view }) => view.repairs.some(({ action }) => action === 'installModels') && (target?.runId ?? runId) === runId);
  if (stands !== undefined) {
    await services.request('donewhen.run.resume', { runId: stands.runId });
  }
}

// ------------------------------------------------------------------------------------------ what can be done now

const EXECUTING: ReadonlySet<string> = new Set(['answer', 'start', 'checkNow', 'resume', 'takeOver', 'guard', 'revertToIteration']);

type Item = vscode.QuickPickItem & Offer;

/** A click on the status bar: what can be done now, the likeliest first; what is wrong with the server before that. */
async function showActions(services: Services, target: Target | undefined): Promise<void> {
  const run = target?.runId === undefined ? currentRun(services) : services.snapshots.get(target.runId);
  const problem = services.problem();
  const remedies = (problem?.offers ?? []).map((offer) => ({ label: offer.label, iconPath: new vscode.ThemeIcon('wrench'), perform: () => offer.perform() }));
  const actions = services.serverState() === 'failed' ? ['showLogs'] : await possible(services, run);
  const items = actions.map((action): Item => actionItem(services, action, run));
  const title = run === undefined ? vscode.l10n.t('Done When') : `${run.view.title} · ${run.view.state} · ${run.view.tally}`;
  const chosen = await vscode.window.showQuickPick([...remedies, ...items], { title, placeHolder: problem?.message ?? '' });
  await chosen?.perform();
}

async function possible(services: Services, run: Snapshot | undefined): Promise<string[]> {
  const all = services.snapshots.all();
  const { isTrusted } = vscode.workspace;
  const found = run === undefined ? await withoutRun() : actionsOf(run, all);
  const elsewhere = run !== undefined && asksElsewhere(all, run) !== undefined ? ['answer'] : [];
  const allowed = [...elsewhere, ...found].filter((action) => isTrusted || !EXECUTING.has(action));
  return [...(isTrusted ? [] : ['trust']), ...allowed, 'setGoal', 'showLogs'];
}

async function withoutRun(): Promise<string[]> {
  const active = vscode.window.activeTextEditor?.document.uri;
  const goals = (active !== undefined && isGoalFile(active)) || (await findGoals()).length > 0;
  return goals ? ['start', 'checkNow'] : [];
}

/** As the manifest has it; commands that concern the run get it, those that concern goals in general choose for themselves. */
function actionItem({ context }: Services, action: string, run: Snapshot | undefined): Item {
  const [command, title, icon] =
    action === 'trust'
      ? ['workbench.trust.manage', vscode.l10n.t('Manage Workspace Trust'), 'workspace-untrusted']
      : [`donewhen.${action}`, ...named(context, `donewhen.${action}`)];
  const another = action === 'answer' && run?.view.asking === false;
  const general = another || ['setGoal', 'showLogs', 'trust'].includes(action);
  const about = run === undefined || general ? undefined : { runId: run.runId, goalUri: run.goalUri };
  // Not in the label: a screen reader would spell it out.
  return { label: title, iconPath: new vscode.ThemeIcon(icon), perform: () => vscode.commands.executeCommand(command, about) };
}

function named({ extension }: vscode.ExtensionContext, command: string): [string, string] {
  const { contributes } = extension.packageJSON as { contributes: { commands: readonly { command: string; title: string; icon?: string }[] } };
  const found = contributes.commands.find((one) => one.command === command);
  // In a list of their own, what is short in a menu beside its goal says what it is about.
  const longer: Readonly<Record<string, string>> = {
    'donewhen.answer': vscode.l10n.t('Answer Question'),
    'donewhen.openGoal': vscode.l10n.t('Open the Goal'),
    'donewhen.waive': vscode.l10n.t('Waive a Requirement'),
  };
  return [longer[command] ?? found?.title ?? command, /^\$\((.+)\)$/.exec(found?.icon ?? '')?.[1] ?? 'circle'];
}

// ------------------------------------------------------------------------------------------ goals and their runs

async function start(services: Services, target: Target | undefined): Promise<void> {
  const uri = await goalUri(target);
  if (uri === undefined || !trusted()) {
    return;
  }
  // The goal may name another worker: where leave is refused, the run goes as far as it can, and says what it lacks.
  await askForModels(services);
  await saveGoal(uri);
  // A run begins with the settings as they are then, such as the model that was just chosen for it.
  await services.settled();
  const begun = await startAndAsk(services, uri, (limits) =>
    oneAtATime(services, uri, () => services.request('donewhen.run.start', { goalUri: uri, ...limits })),
  );
  if (begun !== undefined && text('showTimelineOnStart') === 'agent') {
    // What a worker does, once it works: beside what the person looks at, who may go on typing. A person sees it anyway.
    const run = await until(services, begun.runId, (one) => one.iteration > 0 || !one.view.active);
    if (run.view.active && run.worker !== 'human') {
      await vscode.commands.executeCommand('donewhen.showTimeline', { runId: run.runId, aside: true });
    }
  }
}

/** Begins a run, or goes on with one: where another one stands in the way, it says which, and offers to pause it. */
async function oneAtATime<T>(services: Services, goal: string | null, begin: () => Promise<T>): Promise<T | undefined> {
  try {
    return await begin();
  } catch (problem) {
    const { activeRunId: runId } = dataOf(problem);
    if (runId === undefined) {
      throw problem;
    }
    const { snapshots } = await services.request('donewhen.run.status', {});
    const other = snapshots.find((one) => one.runId === runId);
    // A second press on Start asks for what is so already; the run may not even be on record yet.
    if (other === undefined || other.goalUri === goal) {
      return undefined;
    }
    // A dialog: it stands between a click and what was asked for by it, and must not hide.
    const pause = vscode.l10n.t('Pause It and Start This One');
    const message = vscode.l10n.t('A run of “{0}” is in progress in this folder, where only one goal can run at a time.', label(other.title));
    if ((await confirm(message, vscode.l10n.t('A run that is paused can be resumed.'), [pause])) !== pause) {
      return undefined;
    }
    await services.request('donewhen.run.pause', { runId });
    return begin();
  }
}

async function checkNow(services: Services, target: Target | undefined): Promise<void> {
  const uri = await goalUri(target);
  if (uri === undefined || !trusted()) {
    return;
  }
  const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Checking the goal') };
  const { missing, view } = await vscode.window.withProgress(options, () => checkGoal(services, uri));
  vscode.window.setStatusBarMessage(missing === '' ? view.tally : `${view.tally}: ${label(missing)}`, 8_000);
}

/** A run that a limit ended goes on with a higher one. */
async function resume(services: Services, run: Snapshot): Promise<void> {
  const { runId, view } = run;
  if (!trusted()) {
    return;
  }
  let raised: Limits = {};
  if (view.raises !== null) {
    const { limit, title, proposed, unit, whole } = view.raises;
    const given = await askNumber(title, proposed, true);
    if (given === undefined) {
      return;
    }
    raised = { [limit]: (whole ? Math.round(given) : given) * unit };
  }
  await oneAtATime(services, run.goalUri, () => services.request('donewhen.run.resume', { runId, ...raised }));
}

/** Goes on with the run of a window that is gone. Of several that take it over, one has it, and the others follow it. */
async function takeOver(services: Services, run: Snapshot): Promise<void> {
  try {
    await resume(services, run);
  } catch (problem) {
    const { snapshots } = await services.request('donewhen.run.status', { runId: run.runId });
    if (snapshots.every(({ status }) => status === 'interrupted')) {
      throw problem;
    }
    vscode.window.setStatusBarMessage(vscode.l10n.t('The run was taken over elsewhere. You follow it here.'), 8_000);
  }
}

/** Opens the goal file, at the requirement where one is meant. */
async function openGoal({ snapshots }: Services, target: Target | undefined): Promise<void> {
  const uri = await goalUri(target);
  if (uri === undefined) {
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri, true));
  const requirement = snapshots.get(target?.runId ?? '')?.requirements.find((one) => one.id === target?.requirementId);
  const at = requirement === undefined ? -1 : document.getText().indexOf(requirement.text);
  const place = document.positionAt(Math.max(0, at));
  await vscode.window.showTextDocument(document, at < 0 ? {} : { selection: new vscode.Range(place, place) });
}

// ------------------------------------------------------------------------------------------ a person's word

async function waive(services: Services, target: Target | undefined): Promise<void> {
  const title = vscode.l10n.t('Which requirement do you want to waive?');
  const chosen = await pickRequirement(services, target, ({ status }) => status !== 'met' && status !== 'waived', title);
  const reason = chosen && (await askReason(vscode.l10n.t('Why does it need no proof?')));
  if (chosen === undefined || reason === undefined) {
    return;
  }
  const run = await services.request('donewhen.run.override', { ...chosen, reason });
  if (run.view.goesOn && run.requirements.every(({ status }) => status === 'met' || status === 'waived')) {
    // A run that has halted or ended looks at what a person decided since only when it goes on.
    const go = { label: vscode.l10n.t('Resume'), perform: () => vscode.commands.executeCommand('donewhen.resume', { runId: run.runId }) };
    const message = vscode.l10n.t('Nothing is left to prove for “{0}”. Resume the run to complete it.', label(run.title));
    say('information', message, { buttons: [go] });
  }
}

async function unwaive(services: Services, target: Target | undefined): Promise<void> {
  const title = vscode.l10n.t('Which requirement should be proven again?');
  const chosen = await pickRequirement(services, target, ({ status }) => status === 'waived', title);
  if (chosen !== undefined) {
    const reason = vscode.l10n.t('undone in the editor');
    await services.request('donewhen.run.override', { ...chosen, reason, undo: true });
  }
}

async function dispute(services: Services, target: Target | undefined): Promise<void> {
  const chosen = await pickRequirement(services, target, ({ disputable }) => disputable, vscode.l10n.t('Which verdict is wrong?'));
  const reason = chosen && (await askReason(vscode.l10n.t('What should the judge look at again?')));
  if (chosen !== undefined && reason !== undefined && trusted()) {
    await services.request('donewhen.run.dispute', { ...chosen, reason });
  }
}

async function acceptFinding({ request }: Services, target: Target | undefined): Promise<void> {
  const { runId, findingId } = target ?? {};
  if (runId !== undefined && findingId !== undefined) {
    const reason = await askReason(vscode.l10n.t('Accept {0}: why is it right?', findingId));
    if (reason !== undefined) {
      await request('donewhen.run.acceptIntegrity', { runId, findingId, reason });
    }
  }
}

// ------------------------------------------------------------------------------------------ putting files back

type Reverted = CommandResults['donewhen.run.revert'];

const MOST_NAMES = 5;

/** Says what was put back, and what was kept since a person edited it: those go too where they press the button. */
function tellReverted(outcome: Reverted, force: () => Promise<Reverted>, iteration?: number): void {
  const { length } = outcome.changedFiles;
  const files = length === 1 ? vscode.l10n.t('1 file is') : vscode.l10n.t('{0} files are', length);
  const since =
    iteration === undefined
      ? vscode.l10n.t('{0} back as before.', files)
      : vscode.l10n.t('{0} back as after iteration {1}.', files, iteration);
  const done = length === 0 ? vscode.l10n.t('No file had to be put back.') : since;
  if (outcome.kept.length === 0) {
    vscode.window.setStatusBarMessage(done, 8_000);
    return;
  }
  const names = outcome.kept.slice(0, MOST_NAMES).map((uri) => harmless(vscode.workspace.asRelativePath(vscode.Uri.parse(uri))));
  const list = outcome.kept.length > names.length ? [...names, '…'].join(', ') : names.join(', ');
  const perform = async (): Promise<void> => {
    tellReverted(await force(), force, iteration);
  };
  const buttons = [{ label: vscode.l10n.t('Revert Them Too'), perform }];
  say('warning', vscode.l10n.t('{0} Kept, since you edited them: {1}.', done, list), { buttons });
}

async function revert({ request }: Services, about: CommandArguments['donewhen.run.revert']): Promise<void> {
  const force = () => request('donewhen.run.revert', { ...about, force: true });
  tellReverted(await request('donewhen.run.revert', about), force, about.uris === undefined ? about.iteration : undefined);
}

async function revertFinding(services: Services, target: Target | undefined): Promise<void> {
  const { runId, findingId } = target ?? {};
  if (runId !== undefined && findingId !== undefined) {
    await revert(services, { runId, findingId });
  }
}

/** Puts the files back as they were after an iteration. */
async function revertToIteration(services: Services, target: Target | undefined): Promise<void> {
  const none = vscode.l10n.t('There is no iteration to revert to.');
  const run = await pickRun(services, target, (one) => one.iterationsTotal > 0, none);
  const iteration = target?.iteration ?? (run && (await pickIteration(run)));
  if (run === undefined || iteration === undefined || !trusted()) {
    return;
  }
  await revert(services, { runId: run.runId, iteration });
}

async function pickIteration({ view }: Snapshot): Promise<number | undefined> {
  const items = [...view.timeline.rows].reverse().map(({ label: name, facts, summary, number }) => ({ label: name, description: facts, detail: label(summary), number }));
  const title = vscode.l10n.t('Restore the files as they were after…');
  return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true }))?.number;
}

// ------------------------------------------------------------------------------------------ once a goal is complete

/** The part of the git extension's interface that a commit is prepared with. */
interface Git {
  getAPI(version: 1): { getRepository(uri: vscode.Uri): { readonly inputBox: { value: string } } | null };
}

/**
 * All that the run changed, in one editor: as it was before the first turn on the left, the files themselves on the right, so
 * that a part of them is put back there.
 */
async function reviewChanges({ request }: Services, { runId, view }: Snapshot): Promise<void> {
  const { files } = await request('donewhen.run.changes', { runId });
  if (files.length === 0) {
    say('information', vscode.l10n.t('Nothing is changed: the files are as they were before the first turn.'));
    return;
  }
  const before = (uri: string) => fileUri(runId, 0, uri);
  await openChanges(vscode.l10n.t('Changes: {0}', view.title), files, before, (uri) => vscode.Uri.parse(uri, true));
}

/** Puts files back as they were before the first turn; what they proved is proven again. */
async function rejectFiles(services: Services, { runId, view }: Snapshot): Promise<void> {
  const { files } = await services.request('donewhen.run.changes', { runId });
  const items = files.map(({ uri, before, now }) => {
    const what = before ? (now ? vscode.l10n.t('changed') : vscode.l10n.t('deleted')) : vscode.l10n.t('added');
    return { label: harmless(vscode.workspace.asRelativePath(vscode.Uri.parse(uri, true))), description: what, uri };
  });
  const title = vscode.l10n.t('Put back as before the first turn: {0}', view.title);
  const chosen = await vscode.window.showQuickPick(items, { title, canPickMany: true });
  if (chosen === undefined || chosen.length === 0 || !trusted()) {
    return;
  }
  await revert(services, { runId, iteration: 0, uris: chosen.map(({ uri }) => uri) });
}

/** Opens source control with the receipt as the message; what a person has written there stays, and nothing is committed. */
async function commit({ request }: Services, run: Snapshot): Promise<void> {
  const repository = await repositoryOf(run);
  if (repository?.inputBox.value.trim() === '') {
    const { text: receipt } = await request('donewhen.run.report', { runId: run.runId, format: 'short' });
    repository.inputBox.value = `${run.view.title}\n\n${receipt}`;
  }
  await vscode.commands.executeCommand('workbench.view.scm');
}

async function repositoryOf({ goalUri: uri }: Snapshot): Promise<{ readonly inputBox: { value: string } } | undefined> {
  const git = vscode.extensions.getExtension<Git>('vscode.git');
  if (git === undefined || uri === null) {
    return undefined;
  }
  try {
    return (await git.activate()).getAPI(1).getRepository(vscode.Uri.parse(uri, true)) ?? undefined;
  } catch {
    return undefined; // Git is switched off by a setting, or missing.
  }
}

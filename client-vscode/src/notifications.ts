import * as vscode from 'vscode';
import { harmless, oneLine } from './askedText';
import { asksByDialog } from './consent';
import { choicesOf } from './interruptChoices';
import { answerInWords, askAll, isOpen, type Open, openIn, openInterrupts, send, showAsked } from './interrupts';
import { withoutLinks } from './messageText';
import { inform, tellError } from './notices';
import { Endings, outcome } from './outcomes';
import { commit, copyReceipt, reviewChanges } from './finishing';
import type { Snapshot } from './protocol';
import type { Services } from './services';
import { canGoOn, isActive, isHalted } from './snapshots';

const LONGEST = 400;

/** Milliseconds after which the editor has moved a notification to its list, where it stays until it is closed. */
const IN_VIEW = 15_000;

/** Something to say with buttons; it is over once a button is pressed, or once it no longer holds. */
interface Notice {
  readonly key: string;
  readonly message: string;
  readonly buttons: readonly Button[];
  /** A question: news gives way to it. */
  readonly asks?: true;
  holds(): boolean;
}

interface Button {
  readonly label: string;
  perform(): Promise<void> | Thenable<unknown>;
}

/** Tells a person what waits for them, one notification at a time. */
export function registerNotifications(services: Services): vscode.Disposable {
  const said = new Set<string>();
  const endings = new Endings();
  let busy = false;
  let waiting: Notice | undefined;
  const next = (): void => {
    endings.note(services.snapshots.all());
    const now = notices(services, endings);
    // What is over may come again: a run that went on can be interrupted once more.
    for (const key of [...said].filter((each) => now.every((one) => one.key !== each))) {
      said.delete(key);
    }
    const notice = now.find((one) => !said.has(one.key));
    waiting = notice;
    if (busy || notice === undefined) {
      return;
    }
    busy = true;
    said.add(notice.key);
    waiting = undefined;
    const since = Date.now();
    const givesWay = (): boolean =>
      waiting !== undefined && ((waiting.asks === true && notice.asks !== true) || Date.now() - since >= IN_VIEW);
    void show(services, { ...notice, holds: () => notice.holds() && !givesWay() }).finally(() => {
      busy = false;
      next();
    });
  };
  next();
  return vscode.Disposable.from(
    services.snapshots.onDidChange(next),
    services.client.onDidStart(next),
    vscode.workspace.onDidGrantWorkspaceTrust(next),
  );
}

function notices(services: Services, endings: Endings): Notice[] {
  if (!vscode.workspace.isTrusted) {
    return [];
  }
  return [
    ...openInterrupts(services)
      .filter((open) => goesOn(services, open) && !byDialog(services, open))
      .map((open) => interruptNotice(services, open)),
    ...newestOfGoals(services.snapshots.all()).flatMap((run) => [...standing(services, run), ...ended(services, run, endings)]),
  ];
}

function interruptNotice(services: Services, open: Open): Notice {
  const { runId, interrupt } = open;
  const words = { label: vscode.l10n.t('Answer…'), perform: () => answerInWords(services, open) };
  const show = { label: vscode.l10n.t('Show'), perform: () => showAndWait(services, open) };
  return {
    key: `${runId}/${interrupt.id}/${interrupt.askedAt}`,
    message: asked(open),
    buttons: choicesOf(interrupt, vscode.l10n.t).open ? [words, show] : [...yesAndNo(services, open), show],
    asks: true,
    holds: () => isOpen(services, open) && goesOn(services, open),
  };
}

/** Where several folders are open, which each may have a run, with the goal that it is about. */
function asked({ goalTitle, interrupt }: Open): string {
  const line = oneLine(interrupt, LONGEST, vscode.l10n.t);
  const several = (vscode.workspace.workspaceFolders ?? []).length > 1;
  return several ? vscode.l10n.t('“{0}”: {1}', harmless(goalTitle), line) : line;
}

function yesAndNo(services: Services, open: Open): Button[] {
  const choices = choicesOf(open.interrupt, vscode.l10n.t);
  return [choices.yes, choices.no].map((choice) => ({
    label: choice.label,
    perform: () => send(services, open, choice.answer),
  }));
}

/** The document with the question still beside it: a picker would cover what it is about. */
async function showAndWait(services: Services, open: Open): Promise<void> {
  await showAsked(open);
  const choices = choicesOf(open.interrupt, vscode.l10n.t);
  const words = { label: vscode.l10n.t('Answer…'), perform: () => answerInWords(services, open) };
  const more = { label: vscode.l10n.t('More…'), perform: () => askAll(services, open) };
  const further = choices.edits || choices.text || choices.further.length > 0;
  await show(services, {
    key: '',
    message: asked(open),
    buttons: [...(choices.open ? [words] : yesAndNo(services, open)), ...(further ? [more] : [])],
    holds: () => isOpen(services, open),
  });
}

function byDialog({ snapshots }: Services, { runId, interrupt }: Open): boolean {
  return interrupt.about === 'start' && asksByDialog(snapshots.get(runId)?.goalUri ?? null);
}

function goesOn(services: Services, { runId }: Open): boolean {
  const run = services.snapshots.get(runId);
  return run !== undefined && isActive(run);
}

/** Runs that a crash interrupted, or that a plugin halted, and that a person may let go on. */
function standing(services: Services, run: Snapshot): Notice[] {
  const target = { runId: run.runId, goalUri: run.goalUri };
  const resume = {
    label: vscode.l10n.t('Resume'),
    perform: () => vscode.commands.executeCommand('donewhen.resume', target),
  };
  const since = `${run.runId}/${run.status ?? ''}/${run.iteration}`;
  const holds = (): boolean => services.snapshots.get(run.runId)?.status === run.status;
  if (run.status === 'interrupted') {
    return [{ key: since, ...interrupted(services, run, resume), holds }];
  }
  if (isHalted(run) && run.halt !== null) {
    const { plugin, reason } = run.halt;
    const message = vscode.l10n.t('“{0}” waits: {1}: {2}', harmless(run.title), plugin, harmless(reason));
    return [{ key: `${since}/${run.halt.reason}`, message, buttons: [resume], holds }];
  }
  return [];
}

/** With what it asked just then, which can be answered before it goes on. */
function interrupted(services: Services, run: Snapshot, resume: Button): Pick<Notice, 'message' | 'buttons'> {
  const [open] = openIn(run);
  if (open === undefined) {
    return { message: vscode.l10n.t('The run of “{0}” was interrupted.', harmless(run.title)), buttons: [resume] };
  }
  const line = oneLine(open.interrupt, LONGEST, vscode.l10n.t);
  const show = { label: vscode.l10n.t('Show'), perform: () => showAndWait(services, open) };
  const message = vscode.l10n.t('The run of “{0}” was interrupted while it asked: {1}', harmless(run.title), line);
  return { message, buttons: [resume, show] };
}

/** What lets it go on: a limit that ended it is raised first. */
function goOnLabel({ status }: Snapshot): string {
  const limited = status === 'capped' || status === 'timed_out' || status === 'over_budget';
  return limited ? vscode.l10n.t('Raise the Limit…') : vscode.l10n.t('Resume');
}

/** How a run ended, with what is likely to be done next. */
function ended(services: Services, run: Snapshot, endings: Endings): Notice[] {
  if (!endings.has(run)) {
    return [];
  }
  const target = { runId: run.runId, goalUri: run.goalUri };
  const button = (label: string, command: string): Button => ({
    label,
    perform: () => vscode.commands.executeCommand(command, target),
  });
  return [
    {
      key: `${run.runId}/${run.status ?? ''}/${run.iteration}`,
      message: outcome(run, vscode.l10n),
      buttons:
        run.status === 'complete'
          ? [
              { label: vscode.l10n.t('Review Changes'), perform: () => reviewChanges(services, run) },
              { label: vscode.l10n.t('Commit…'), perform: () => commit(run) },
              { label: vscode.l10n.t('Copy Receipt'), perform: () => copyReceipt(services, run) },
            ]
          : [
              ...(canGoOn(run) ? [button(goOnLabel(run), 'donewhen.resume')] : []),
              button(vscode.l10n.t('Show Report'), 'donewhen.report'),
              button(vscode.l10n.t('Show Timeline'), 'donewhen.showTimeline'),
            ],
      holds: () => services.snapshots.get(run.runId)?.status === run.status,
    },
  ];
}

function newestOfGoals(newestFirst: readonly Snapshot[]): Snapshot[] {
  const seen = new Set<string>();
  return newestFirst.filter((run) => {
    const goal = run.goalUri ?? run.runId;
    return run.status !== null && !seen.has(goal) && seen.add(goal);
  });
}

/** Resolves once it was answered, closed, or is over; a button that is pressed later still counts. */
async function show(services: Services, notice: Notice): Promise<void> {
  const state = { shown: false, left: false };
  const labels = notice.buttons.map((button) => button.label);
  const closed = inform(withoutLinks(notice.message), labels, () => {
    state.shown = !state.left && notice.holds();
    return state.shown;
  });
  const done = closed.then(async (label) => {
    try {
      await notice.buttons.find((button) => button.label === label)?.perform();
    } catch (problem) {
      void tellError(harmless(problem instanceof Error ? problem.message : String(problem)));
    }
  });
  const first = await Promise.race([closed.then(() => 'closed' as const), over(services, notice, closed)]);
  if (first === 'over') {
    state.left = true;
    if (state.shown) {
      // The editor has no way to take back one notification: this hides those in view, and keeps them in its list.
      await vscode.commands.executeCommand('notifications.hideToasts');
    }
    return;
  }
  await Promise.race([done, over(services, notice, done)]);
}

/** Until it no longer holds, or nobody waits for that any more. */
function over(services: Services, notice: Notice, until: Promise<unknown>): Promise<'over'> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!notice.holds()) {
        stop();
        resolve('over');
      }
    };
    const later = setTimeout(look, IN_VIEW);
    const watching = services.snapshots.onDidChange(look);
    const stop = (): void => {
      clearTimeout(later);
      watching.dispose();
    };
    until.then(stop, stop);
    look();
  });
}

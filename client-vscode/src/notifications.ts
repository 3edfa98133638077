import * as vscode from 'vscode';
import { askedNotice, harmless } from './askedText';
import { asksByDialog } from './consent';
import { choicesOf } from './interruptChoices';
import { answerInWords, isOpen, type Open, openIn, openInterrupts, send, showAndAsk, showAsked } from './interrupts';
import { withoutLinks } from './messageText';
import { inform, type Offer, tellError } from './notices';
import { Endings, outcome } from './outcomes';
import { commit, copyReceipt, reviewChanges } from './finishing';
import type { Snapshot } from './protocol';
import { ask as askIt, registerQuestions } from './questions';
import type { Services } from './services';
import { canGoOn, isActive, isHalted, needsModelSupport } from './snapshots';

const LONGEST = 400;

/** Milliseconds after which the editor has moved a notification to its list, where it stays until it is closed. */
const IN_VIEW = 15_000;

/** Something to say with what can be done about it; it is over once it no longer holds. */
interface Notice {
  readonly key: string;
  readonly message: string;
  readonly buttons: readonly Offer[];
  /** A question: it stays in view until it is answered, here or elsewhere. News hides by itself. */
  readonly asks?: true;
  holds(): boolean;
}

/** Tells a person what waits for them: one question at a time, and one piece of news beside it. */
export function registerNotifications(services: Services): vscode.Disposable {
  const said = new Set<string>();
  const endings = new Endings();
  const shown = { question: false, news: false };
  let newsWaits = false;
  const next = (): void => {
    endings.note(services.snapshots.all());
    const now = notices(services, endings);
    // What is over may come again: a run that went on can be interrupted once more.
    for (const key of [...said].filter((each) => now.every((one) => one.key !== each))) {
      said.delete(key);
    }
    const unsaid = now.filter((one) => !said.has(one.key));
    const question = unsaid.find((one) => one.asks === true);
    if (question !== undefined && !shown.question) {
      show('question', question, ask(services, question));
    }
    const news = unsaid.find((one) => one.asks !== true);
    newsWaits = shown.news && news !== undefined;
    if (news !== undefined && !shown.news) {
      const since = Date.now();
      const givesWay = (): boolean => newsWaits && Date.now() - since >= IN_VIEW;
      const one = { ...news, holds: () => news.holds() && !givesWay() };
      show('news', news, tell(services, one, () => shown.question));
    }
  };
  const show = (kind: keyof typeof shown, notice: Notice, done: Promise<void>): void => {
    shown[kind] = true;
    said.add(notice.key);
    void done.finally(() => {
      shown[kind] = false;
      next();
    });
  };
  next();
  return vscode.Disposable.from(
    registerQuestions(),
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
  const choices = choicesOf(interrupt, vscode.l10n.t);
  const answers = choices.open
    ? [{ label: vscode.l10n.t('Answer…'), perform: () => answerInWords(services, open) }]
    : [choices.yes, choices.no].map(({ label, answer }) => ({ label, perform: () => send(services, open, answer) }));
  const more = { label: vscode.l10n.t('More…'), perform: () => showAndAsk(services, open) };
  const further = choices.edits || choices.text || choices.further.length > 0;
  return {
    key: `${runId}/${interrupt.id}/${interrupt.askedAt}`,
    message: asked(open),
    buttons: [...answers, ...(further && !choices.open ? [more] : []), showButton(open)],
    asks: true,
    holds: () => isOpen(services, open) && goesOn(services, open),
  };
}

function showButton(open: Open): Offer {
  return { label: vscode.l10n.t('Show'), perform: () => showAsked(open) };
}

/** Where several folders are open, which each may have a run, with the goal that it is about. */
function asked({ goalTitle, interrupt }: Open): string {
  const line = askedNotice(interrupt, LONGEST, vscode.l10n.t);
  const several = (vscode.workspace.workspaceFolders ?? []).length > 1;
  return several ? vscode.l10n.t('“{0}”: {1}', harmless(goalTitle), line) : line;
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
    return [{ key: since, ...interrupted(run, resume), holds }];
  }
  if (isHalted(run) && run.halt !== null) {
    const { plugin, reason } = run.halt;
    const message = vscode.l10n.t('“{0}” is waiting: {1}: {2}', harmless(run.title), plugin, harmless(reason));
    return [{ key: `${since}/${run.halt.reason}`, message, buttons: [resume], holds }];
  }
  return [];
}

/** With what it asked just then, which can be answered before it goes on. */
function interrupted(run: Snapshot, resume: Offer): Pick<Notice, 'message' | 'buttons' | 'asks'> {
  const [open] = openIn(run);
  if (open === undefined) {
    return { message: vscode.l10n.t('The run of “{0}” was interrupted.', harmless(run.title)), buttons: [resume] };
  }
  const line = askedNotice(open.interrupt, LONGEST, vscode.l10n.t);
  const message = vscode.l10n.t('The run of “{0}” was interrupted while it asked: {1}', harmless(run.title), line);
  return { message, buttons: [resume, showButton(open)], asks: true };
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
  const button = (label: string, command: string): Offer => ({
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
              { label: vscode.l10n.t('Commit…'), perform: () => commit(services, run) },
              { label: vscode.l10n.t('Copy Receipt'), perform: () => copyReceipt(services, run) },
            ]
          : [
              ...(needsModelSupport(run)
                ? [button(vscode.l10n.t('Install Model Support'), 'donewhen.installModels')]
                : canGoOn(run)
                  ? [button(goOnLabel(run), 'donewhen.resume')]
                  : []),
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

/** Asks until it is over. */
async function ask(services: Services, notice: Notice): Promise<void> {
  let stop = (): void => undefined;
  const never = new Promise<void>((resolve) => {
    stop = resolve;
  });
  try {
    await askIt(notice.message, notice.buttons, () => notice.holds(), over(services, notice, never));
  } finally {
    stop();
  }
}

/** Resolves once it was closed, or is over; a button that is pressed later still counts. */
async function tell(services: Services, notice: Notice, asksBeside: () => boolean): Promise<void> {
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
    if (state.shown && !asksBeside()) {
      // This hides all that are in view, and keeps them in the list: nothing that is asked may hide with them.
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

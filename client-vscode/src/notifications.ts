import * as vscode from 'vscode';
import { asksByDialog } from './consent';
import { answerInWords, isOpen, type Open, openIn, openInterrupts, send, showAndAsk, showAsked } from './interrupts';
import { ask as askIt, registerQuestions, said } from './notices';
import { harmless } from './plainText';
import type { Snapshot } from './protocol';
import type { Offer, Services } from './services';

type NotificationServices = Pick<Services, 'request' | 'onDidStart' | 'snapshots'>;

/** Milliseconds after which the editor has moved a notification to its list, where it stays until it is closed. */
const IN_VIEW = 15_000;

/** Characters in the labels of a notification's buttons. */
const ROOM = 43;

/** Something to say with what can be done about it; it is over once it no longer holds. */
interface Notice {
  readonly key: string;
  readonly message: string;
  /** Of news: what needs a person is a warning. */
  readonly kind?: 'warning' | 'information';
  readonly buttons: readonly Offer[];
  /** A question: it stays in view until it is answered, here or elsewhere. News hides by itself. */
  readonly asks?: true;
  holds(): boolean;
}

/** Tells a person what waits for them: one question at a time, and one piece of news beside it. */
export function registerNotifications(services: NotificationServices): vscode.Disposable {
  const heard = new Set<string>();
  const endings = new Endings();
  const shown = { question: false, news: false };
  let newsWaits = false;
  const next = (): void => {
    endings.note(services.snapshots.all());
    const now = notices(services, endings);
    // What is over may come again: a run that went on can be interrupted once more.
    for (const key of [...heard].filter((each) => now.every((one) => one.key !== each))) {
      heard.delete(key);
    }
    const unheard = now.filter((one) => !heard.has(one.key));
    const question = unheard.find((one) => one.asks === true);
    if (question !== undefined && !shown.question) {
      show('question', question, ask(services, question));
    }
    const news = unheard.find((one) => one.asks !== true);
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
    heard.add(notice.key);
    void done.finally(() => {
      shown[kind] = false;
      next();
    });
  };
  next();
  return vscode.Disposable.from(
    registerQuestions(),
    services.snapshots.onDidChange(next),
    services.onDidStart(next),
    vscode.workspace.onDidGrantWorkspaceTrust(next),
  );
}

/** The runs that ended before this window's eyes, and that nobody stopped: told whatever a person looks at. */
class Endings {
  private readonly active = new Set<string>();
  private readonly ended = new Set<string>();

  note(runs: readonly Snapshot[]): void {
    for (const { runId, view } of runs) {
      if (view.active) {
        this.active.add(runId);
        this.ended.delete(runId);
      } else if (this.active.delete(runId) && view.outcome !== null) {
        this.ended.add(runId);
      }
    }
  }

  has(run: Snapshot): boolean {
    return this.ended.has(run.runId);
  }
}

function notices(services: NotificationServices, endings: Endings): Notice[] {
  if (!vscode.workspace.isTrusted) {
    return [];
  }
  return [
    ...openInterrupts(services)
      .filter((open) => open.run.view.active && !(open.interrupt.about === 'start' && asksByDialog(open.run.goalUri)))
      .map((open) => interruptNotice(services, open)),
    ...newestOfGoals(services.snapshots.all()).flatMap((run) => [...standing(services, run), ...ended(services, run, endings)]),
  ];
}

function interruptNotice(services: NotificationServices, open: Open): Notice {
  const { run, interrupt, asked } = open;
  const answers = asked.open
    ? [{ label: vscode.l10n.t('Answer…'), perform: () => answerInWords(services, open) }]
    : asked.choices.slice(0, 2).map((choice) => ({ label: choice.label, perform: () => send(services, open, choice) }));
  const more = { label: vscode.l10n.t('More…'), perform: () => showAndAsk(services, open) };
  const further = asked.edits !== null || asked.words || asked.choices.length > 2;
  // Where several folders are open, which each may have a run, with the goal that it is about.
  const several = (vscode.workspace.workspaceFolders ?? []).length > 1;
  return {
    key: `${run.runId}/${interrupt.id}/${interrupt.askedAt}`,
    message: several ? vscode.l10n.t('“{0}”: {1}', harmless(run.title), asked.notice) : asked.notice,
    buttons: [...answers, ...(further && !asked.open ? [more] : []), showButton(open)],
    asks: true,
    holds: () => isOpen(services, open) && services.snapshots.get(run.runId)?.view.active === true,
  };
}

function showButton(open: Open): Offer {
  return { label: vscode.l10n.t('Show'), perform: () => showAsked(open) };
}

/** Runs that a crash interrupted, or that a plugin halted, and that a person may let go on. */
function standing(services: NotificationServices, run: Snapshot): Notice[] {
  const resume = command(run, vscode.l10n.t('Resume'), 'donewhen.resume');
  const key = keyOf(run);
  const holds = stays(services, run);
  const title = harmless(run.title);
  if (run.takeOver) {
    const [open] = openIn(run);
    const message =
      open === undefined
        ? vscode.l10n.t('The window or terminal that was running “{0}” is gone. Take the run over here?', title)
        : vscode.l10n.t('The window or terminal that was running “{0}” is gone, and the run asked: {1}', title, open.asked.notice);
    const take = command(run, vscode.l10n.t('Take Over'), 'donewhen.takeOver');
    return [{ key: `${key}/takeOver`, message, buttons: [take, ...(open === undefined ? [] : [showButton(open)])], asks: true, holds }];
  }
  if (run.status === 'interrupted') {
    // With what it asked just then, which can be answered before it goes on.
    const [open] = openIn(run);
    if (open === undefined) {
      return [{ key, message: vscode.l10n.t('The run of “{0}” was interrupted.', title), buttons: [resume], holds }];
    }
    const message = vscode.l10n.t('The run of “{0}” was interrupted while it asked: {1}', title, open.asked.notice);
    return [{ key, message, buttons: [resume, showButton(open)], asks: true, holds }];
  }
  if (run.view.halted !== null && run.halt !== null) {
    const message = vscode.l10n.t('“{0}” is waiting: {1}: {2}', title, run.halt.plugin, harmless(run.view.halted));
    return [{ key: `${key}/${run.view.halted}`, message, buttons: [resume], holds }];
  }
  return [];
}

/** How a run ended, with what is likely to be done next. */
function ended(services: NotificationServices, run: Snapshot, endings: Endings): Notice[] {
  if (!endings.has(run)) {
    return [];
  }
  const { t } = vscode.l10n;
  const repairs = run.view.repairs.map(({ label, action }) => command(run, label, `donewhen.${action}`));
  const buttons =
    run.status === 'complete'
      ? [
          command(run, t('Review Changes'), 'donewhen.reviewChanges'),
          command(run, t('Commit…'), 'donewhen.commit'),
          command(run, t('Copy Receipt'), 'donewhen.copyReceipt'),
        ]
      : fitting([
          ...repairs,
          ...(repairs.length < 2 ? [command(run, t('Show Report'), 'donewhen.report')] : []),
          command(run, t('Show Timeline'), 'donewhen.showTimeline'),
        ]);
  const kind = run.status === 'complete' ? 'information' : 'warning';
  return [{ key: keyOf(run), kind, message: run.view.outcome ?? '', buttons, holds: stays(services, run) }];
}

/** The first that a notification has room for: the editor cuts the labels of all where there are more. */
function fitting(buttons: readonly Offer[]): Offer[] {
  let room = ROOM;
  return buttons.filter(({ label }) => (room -= label.length) >= 0);
}

function command({ runId, goalUri }: Snapshot, label: string, id: string): Offer {
  return { label, perform: () => vscode.commands.executeCommand(id, { runId, goalUri }) };
}

function keyOf(run: Snapshot): string {
  return `${run.runId}/${run.status ?? ''}/${run.iteration}`;
}

function stays({ snapshots }: NotificationServices, { runId, status }: Snapshot): () => boolean {
  return () => snapshots.get(runId)?.status === status;
}

function newestOfGoals(newestFirst: readonly Snapshot[]): Snapshot[] {
  const seen = new Set<string>();
  return newestFirst.filter(({ status, view }) => status !== null && !seen.has(view.goal) && seen.add(view.goal));
}

/** Asks until it is over. */
async function ask({ snapshots }: NotificationServices, notice: Notice): Promise<void> {
  const end = endOf(snapshots, notice);
  try {
    await askIt(notice.message, notice.buttons, () => notice.holds(), end.reached);
  } finally {
    end.dispose();
  }
}

/** Resolves once it was closed, or is over; a button that is pressed later still counts. */
async function tell({ snapshots }: NotificationServices, notice: Notice, asksBeside: () => boolean): Promise<void> {
  const state = { shown: false, left: false };
  const holds = (): boolean => {
    state.shown = !state.left && notice.holds();
    return state.shown;
  };
  const end = endOf(snapshots, notice);
  let done: Promise<void> = Promise.resolve();
  const closed = new Promise<'closed'>((resolve) => {
    const told = { buttons: notice.buttons, holds, closed: () => { resolve('closed'); } };
    done = said(notice.kind ?? 'information', notice.message, told);
  });
  try {
    if ((await Promise.race([closed, end.reached])) === 'closed') {
      await Promise.race([done, end.reached]);
      return;
    }
    state.left = true;
    if (state.shown && !asksBeside()) {
      // This hides all that are in view, and keeps them in the list: nothing that is asked may hide with them.
      await vscode.commands.executeCommand('notifications.hideToasts');
    }
  } finally {
    end.dispose();
  }
}

/** When a notice no longer holds; looked for until it is disposed of. */
function endOf(snapshots: Services['snapshots'], notice: Notice): { readonly reached: Promise<'over'>; dispose(): void } {
  let stop = (): void => undefined;
  const reached = new Promise<'over'>((resolve) => {
    const look = (): void => {
      if (!notice.holds()) {
        resolve('over');
      }
    };
    const later = setTimeout(look, IN_VIEW);
    const watching = snapshots.onDidChange(look);
    stop = () => {
      clearTimeout(later);
      watching.dispose();
    };
    look();
  });
  return { reached, dispose: () => { stop(); } };
}

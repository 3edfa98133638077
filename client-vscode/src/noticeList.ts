import { harmless } from './plainText';
import type { Choice, Snapshot } from './protocol';
import { isOpenIn, type Open, openIn, openOf } from './questions';

type Translate = (message: string, ...values: string[]) => string;

/** Milliseconds after which the editor has moved a notification to its list, where it stays until it is closed. */
export const IN_VIEW = 15_000;

/** Characters in the labels of a notification's buttons. */
const ROOM = 43;

/** What a button of a notice does: an answer, a way to one, or a command for a run. */
export type Does =
  | { readonly kind: 'choose'; readonly open: Open; readonly choice: Choice }
  | { readonly kind: 'words' | 'more' | 'show'; readonly open: Open }
  | { readonly kind: 'command'; readonly id: string; readonly run: Snapshot };

interface Button {
  readonly label: string;
  readonly does: Does;
}

/** Something to say with what can be done about it; it is over once it no longer holds. */
export interface Notice {
  readonly key: string;
  readonly message: string;
  /** Of news: what needs a person is a warning. */
  readonly kind?: 'warning' | 'information';
  readonly buttons: readonly Button[];
  /** A question: it stays in view until it is answered, here or elsewhere. News hides by itself. */
  readonly asks?: true;
  /** Whether it still does, these being the runs by now. */
  holds(runs: readonly Snapshot[]): boolean;
}

/** What notices depend on besides the runs. */
interface Around {
  /** Several folders are open, which each may have a run. */
  readonly several: boolean;
  /** Whether a dialog asks for consent to the run of this goal. */
  readonly asksByDialog: (goalUri: string | null) => boolean;
  readonly endings: Pick<Endings, 'has'>;
  readonly t: Translate;
}

/** The runs that ended before this window's eyes, and that nobody stopped: told whatever a person looks at. */
export class Endings {
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

/** Which notices are told, and when: one question at a time, and one piece of news beside it. */
export class Turns {
  private readonly heard = new Set<string>();
  private readonly shown = { question: false, news: false };
  private newsWaits = false;

  /** Of all that there is to say, what is to be told now. */
  next(notices: readonly Notice[]): Notice[] {
    // What is over may come again: a run that went on can be interrupted once more.
    for (const key of [...this.heard].filter((each) => notices.every((one) => one.key !== each))) {
      this.heard.delete(key);
    }
    const unheard = notices.filter(({ key }) => !this.heard.has(key));
    const question = unheard.find(({ asks }) => asks === true);
    const news = unheard.find(({ asks }) => asks !== true);
    this.newsWaits = this.shown.news && news !== undefined;
    const told = [this.shown.question ? undefined : question, this.shown.news ? undefined : news].filter((one) => one !== undefined);
    for (const one of told) {
      this.heard.add(one.key);
      this.shown[kindOf(one)] = true;
    }
    return told;
  }

  /** It was answered, closed, or holds no more. */
  over(notice: Notice): void {
    this.shown[kindOf(notice)] = false;
  }

  get asking(): boolean {
    return this.shown.question;
  }

  /** Whether news that has been told for so many milliseconds makes room for other news. */
  givesWay(told: number): boolean {
    return this.newsWaits && told >= IN_VIEW;
  }
}

/** What goes wrong in the same way is told once for as long as its words stand there, and anew to whoever tries again. */
export class Once {
  private telling: string | undefined;

  /** Whether these words are to be told now. */
  tells(message: string): boolean {
    const other = this.telling !== message;
    this.telling = message;
    return other;
  }

  /** They stand there no more. */
  closed(message: string): void {
    if (this.telling === message) {
      this.telling = undefined;
    }
  }

  /** A person tries again, though the words of before may still be listed. */
  again(): void {
    this.telling = undefined;
  }
}

function kindOf({ asks }: Notice): 'question' | 'news' {
  return asks === true ? 'question' : 'news';
}

/** All that there is to say about these runs, newest first: what is asked, the oldest first; then how they stand. */
export function noticesOf(newestFirst: readonly Snapshot[], around: Around): Notice[] {
  return [
    ...openOf(newestFirst)
      .filter((open) => open.run.view.active && !(open.interrupt.about === 'start' && around.asksByDialog(open.run.goalUri)))
      .map((open) => interruptNotice(open, around)),
    ...newestOfGoals(newestFirst).flatMap((run) => [...standing(run, around), ...ended(run, around)]),
  ];
}

function interruptNotice(open: Open, { several, t }: Around): Notice {
  const { run, interrupt, asked } = open;
  const answers: Button[] = asked.open
    ? [{ label: t('Answer…'), does: { kind: 'words', open } }]
    : asked.choices.slice(0, 2).map((choice) => ({ label: choice.label, does: { kind: 'choose', open, choice } }));
  const more: Button = { label: t('More…'), does: { kind: 'more', open } };
  const further = asked.edits !== null || asked.words || asked.choices.length > 2;
  return {
    key: `${run.runId}/${interrupt.id}/${interrupt.askedAt}`,
    // Where several folders are open, with the goal that it is about.
    message: several ? t('“{0}”: {1}', harmless(run.title), asked.notice) : asked.notice,
    buttons: [...answers, ...(further && !asked.open ? [more] : []), showButton(open, t)],
    asks: true,
    holds: (runs) => isOpenIn(runs, open) && runs.find(({ runId }) => runId === run.runId)?.view.active === true,
  };
}

function showButton(open: Open, t: Translate): Button {
  return { label: t('Show'), does: { kind: 'show', open } };
}

/** Runs that a crash interrupted, or that a plugin halted, and that a person may let go on. */
function standing(run: Snapshot, { t }: Around): Notice[] {
  const resume = command(run, t('Resume'), 'donewhen.resume');
  const key = keyOf(run);
  const holds = stays(run);
  const title = harmless(run.title);
  if (run.takeOver) {
    const [open] = openIn(run);
    const message =
      open === undefined
        ? t('The window or terminal that was running “{0}” is gone. Take the run over here?', title)
        : t('The window or terminal that was running “{0}” is gone, and the run asked: {1}', title, open.asked.notice);
    const take = command(run, t('Take Over'), 'donewhen.takeOver');
    return [{ key: `${key}/takeOver`, message, buttons: [take, ...(open === undefined ? [] : [showButton(open, t)])], asks: true, holds }];
  }
  if (run.status === 'interrupted') {
    // With what it asked just then, which can be answered before it goes on.
    const [open] = openIn(run);
    if (open === undefined) {
      return [{ key, message: t('The run of “{0}” was interrupted.', title), buttons: [resume], holds }];
    }
    const message = t('The run of “{0}” was interrupted while it asked: {1}', title, open.asked.notice);
    return [{ key, message, buttons: [resume, showButton(open, t)], asks: true, holds }];
  }
  if (run.view.halted !== null && run.halt !== null) {
    const message = t('“{0}” is waiting: {1}: {2}', title, run.halt.plugin, harmless(run.view.halted));
    return [{ key: `${key}/${run.view.halted}`, message, buttons: [resume], holds }];
  }
  return [];
}

/** How a run ended, with what is likely to be done next. */
function ended(run: Snapshot, { endings, t }: Around): Notice[] {
  if (!endings.has(run)) {
    return [];
  }
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
  return [{ key: keyOf(run), kind, message: run.view.outcome ?? '', buttons, holds: stays(run) }];
}

/** The first that a notification has room for: the editor cuts the labels of all where there are more. */
function fitting(buttons: readonly Button[]): Button[] {
  let room = ROOM;
  return buttons.filter(({ label }) => (room -= label.length) >= 0);
}

function command(run: Snapshot, label: string, id: string): Button {
  return { label, does: { kind: 'command', id, run } };
}

function keyOf(run: Snapshot): string {
  return `${run.runId}/${run.status ?? ''}/${run.iteration}`;
}

function stays({ runId, status }: Snapshot): Notice['holds'] {
  return (runs) => runs.find((one) => one.runId === runId)?.status === status;
}

function newestOfGoals(newestFirst: readonly Snapshot[]): Snapshot[] {
  const seen = new Set<string>();
  return newestFirst.filter(({ status, view }) => status !== null && !seen.has(view.goal) && seen.add(view.goal));
}

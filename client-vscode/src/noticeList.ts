import { harmless } from './plainText';
import type { Notice, Snapshot } from './protocol';

/** Milliseconds after which the editor has moved a notification to its list, where it stays until it is closed. */
export const IN_VIEW = 15_000;

/** What notices depend on besides the runs. */
interface Around {
  /** Several folders are open, which each may have a run. */
  readonly several: boolean;
  /** Whether a dialog asks for consent to the run of this goal. */
  readonly asksByDialog: (goalUri: string | null) => boolean;
  readonly endings: Pick<Endings, 'has'>;
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
      } else if (this.active.delete(runId) && view.notices.some(({ when }) => when === 'ended')) {
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
    const question = unheard.find((one) => placeOf(one) === 'question');
    const news = unheard.find((one) => placeOf(one) === 'news');
    this.newsWaits = this.shown.news && news !== undefined;
    const told = [this.shown.question ? undefined : question, this.shown.news ? undefined : news].filter((one) => one !== undefined);
    for (const one of told) {
      this.heard.add(one.key);
      this.shown[placeOf(one)] = true;
    }
    return told;
  }

  /** It was answered, closed, or holds no more. */
  over(notice: Notice): void {
    this.shown[placeOf(notice)] = false;
  }

  get asking(): boolean {
    return this.shown.question;
  }

  /** Whether news that has been told for so many milliseconds makes room for other news. */
  givesWay(told: number): boolean {
    return this.newsWaits && told >= IN_VIEW;
  }
}

function placeOf({ kind }: Notice): 'question' | 'news' {
  return kind === 'question' ? 'question' : 'news';
}

/** All that there is to say about these runs, newest first: what is asked, the oldest first; then how they stand. */
export function noticesOf(newestFirst: readonly Snapshot[], { several, asksByDialog, endings }: Around): Notice[] {
  const asked = newestFirst.flatMap(({ goalUri, title, view }) =>
    view.notices
      .filter(({ when }) => when === 'asked' || (when === 'starting' && !asksByDialog(goalUri)))
      // Where several folders are open, with the goal that it is about.
      .map((one) => (several ? { ...one, message: `“${harmless(title)}”: ${one.message}` } : one)),
  );
  const others = newestOfGoals(newestFirst).flatMap((run) =>
    run.view.notices.filter(({ when }) => when === 'stands' || (when === 'ended' && endings.has(run))),
  );
  return [...asked.sort((one, other) => one.at.localeCompare(other.at)), ...others];
}

function newestOfGoals(newestFirst: readonly Snapshot[]): Snapshot[] {
  const seen = new Set<string>();
  return newestFirst.filter(({ status, view }) => status !== null && !seen.has(view.goal) && seen.add(view.goal));
}

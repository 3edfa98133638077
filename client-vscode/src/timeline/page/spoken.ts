import type { Step } from '../../protocol';
import { Throttle } from '../../throttle';
import { type Drawn, h } from './drawing';
import { sentenceOf } from './steps';

/** However fast something happens, somebody who listens hears of it and of nothing else for this long. */
const REST_MS = 5_000;
/** How many ended steps are read out at once, what matters most; more would be heard long after they happened. */
const MOST_SPOKEN = 3;
/** How many of them the region keeps: what is gone from it was read out long ago. */
const KEPT_SPOKEN = 20;

/** A question waits for an answer, and a report says what a whole turn came to. */
const FIRST: ReadonlySet<string> = new Set(['asks', 'reports']);

/**
 * What a screen reader reads out by itself: one line of news, and one short sentence for each step that has ended. What had
 * happened when the page was opened is not read.
 */
export class Spoken {
  private news = '';
  private newsRead = '';
  private readonly known = new Map<string, string>();
  private waiting: Step[] = [];
  private read: readonly Drawn[] = [];
  private count = 0;
  private began = false;
  private readonly readingNews = new Throttle(() => {
    this.newsRead = this.news;
    this.changed();
  }, REST_MS);
  private readonly readingSteps = new Throttle(() => {
    this.readSteps();
  }, REST_MS);

  constructor(private readonly changed: () => void) {}

  say(news: string): void {
    if (news !== this.news) {
      this.news = news;
      this.readingNews.want();
    }
  }

  /** One that is still going on is not read yet, unless it waits for an answer. */
  take(steps: readonly Step[]): void {
    for (const step of steps) {
      const state = step.kind === 'asks' ? 'asked' : step.state;
      if (state !== 'running' && this.known.get(step.id) !== state && this.began) {
        this.waiting.push(step);
      }
      this.known.set(step.id, state);
    }
    this.began = true;
    if (this.waiting.length > 0) {
      this.readingSteps.want();
    }
  }

  newsView(): Drawn {
    return h('p', { class: 'spoken', role: 'status', 'aria-live': 'polite' }, this.newsRead);
  }

  stepsView(): Drawn {
    return h('div', { class: 'spoken', role: 'log', 'aria-live': 'polite', 'aria-label': 'Activity' }, this.read);
  }

  /** Those that matter most, of them the latest, in the order in which they happened. */
  private readSteps(): void {
    const latest = this.waiting.map((step, at) => ({ step, at })).sort((a, b) => weightOf(b.step) - weightOf(a.step) || b.at - a.at);
    const chosen = new Set(latest.slice(0, MOST_SPOKEN).map(({ step }) => step));
    const said = this.waiting.filter((step) => chosen.has(step)).map((step) => h('p', { 'data-key': ++this.count }, sentenceOf(step)));
    this.read = [...this.read, ...said].slice(-KEPT_SPOKEN);
    this.waiting = [];
    this.changed();
  }
}

function weightOf({ kind, state }: Step): number {
  return FIRST.has(kind) ? 2 : kind === 'says' || state === 'failed' ? 1 : 0;
}

import type { Step } from '../../protocol';
import { Throttle } from '../../throttle';
import { element, setText } from './elements';

/** However fast iterations end, somebody who listens hears of one and not of the next for this long. */
const REST_MS = 5_000;

/** The one line that a screen reader reads out by itself. What stands there at first is not read. */
export class News {
  readonly root = element('p', { class: 'spoken', role: 'status', 'aria-live': 'polite' });
  private latest = '';
  private readonly reading = new Throttle(() => {
    setText(this.root, this.latest);
  }, REST_MS);

  say(text: string): void {
    if (text !== this.latest) {
      this.latest = text;
      this.reading.want();
    }
  }
}

/** How many ended steps are read out at once, what matters most; more would be heard long after they happened. */
const MOST_SPOKEN = 3;
/** How many of them the region keeps: what is gone from it was read out long ago. */
const KEPT_SPOKEN = 20;

/**
 * The steps for somebody who listens: one short sentence for each that has ended, without its output or its diff. What had
 * happened when the page was opened is not read. However fast steps end, there is a pause after what was read.
 */
export class StepLog {
  readonly root: HTMLElement;
  private readonly known = new Map<string, string>();
  private waiting: Said[] = [];
  private readonly reading = new Throttle(() => {
    this.read();
  }, REST_MS);
  private began = false;

  constructor(label: string) {
    this.root = element('div', { class: 'spoken', role: 'log', 'aria-live': 'polite', 'aria-label': label });
  }

  /** `sentence` says a step; one that is still going on is not said yet, unless it waits for an answer. */
  take(steps: readonly Step[], sentence: (step: Step) => string): void {
    for (const step of steps) {
      const state = step.kind === 'asks' ? 'asked' : step.state;
      if (state !== 'running' && this.known.get(step.id) !== state && this.began) {
        this.waiting.push(saidOf(sentence(step), step.kind, step.state));
      }
      this.known.set(step.id, state);
    }
    this.began = true;
    if (this.waiting.length > 0) {
      this.reading.want();
    }
  }

  private read(): void {
    this.root.append(...readAtOnce(this.waiting, MOST_SPOKEN).map((said) => element('p', {}, said)));
    this.waiting = [];
    while (this.root.childElementCount > KEPT_SPOKEN) {
      this.root.firstElementChild?.remove();
    }
  }
}

/** What is said of a step to somebody who listens, and how much it matters. */
interface Said {
  readonly sentence: string;
  readonly weight: number;
}

/** A question waits for an answer, and a report says what a whole turn came to. */
const FIRST: ReadonlySet<string> = new Set(['asks', 'reports']);

function saidOf(sentence: string, kind: string, state: string): Said {
  return { sentence, weight: FIRST.has(kind) ? 2 : kind === 'says' || state === 'failed' ? 1 : 0 };
}

/** The sentences that are read out at once: those that matter most, of them the latest, in the order in which they happened. */
function readAtOnce(waiting: readonly Said[], most: number): string[] {
  const latest = waiting.map((said, at) => ({ said, at })).sort((a, b) => b.said.weight - a.said.weight || b.at - a.at);
  const chosen = new Set(latest.slice(0, most).map(({ said }) => said));
  return waiting.filter((said) => chosen.has(said)).map(({ sentence }) => sentence);
}

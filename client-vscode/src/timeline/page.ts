import type { Row, Section, Step } from '../protocol';
import type { FromPage, Link, ShownRun, ToPage } from './messages';
import { pointsOf } from './model';
import { chartView } from './page/chart';
import { draw, type Drawn, h } from './page/drawing';
import { rowsView } from './page/rows';
import { Spoken } from './page/spoken';
import { Steps } from './page/steps';

/** What survives that the page is hidden, or that the window is loaded again. */
interface Kept {
  readonly runId?: string;
  readonly expanded?: readonly number[];
  readonly window?: number;
  readonly asTable?: boolean;
  readonly scroll?: number;
}

declare function acquireVsCodeApi(): {
  postMessage(message: FromPage): void;
  getState(): Kept | undefined;
  setState(state: Kept): void;
};

const host = acquireVsCodeApi();
const main = document.getElementById('timeline') ?? document.body;
/** Rows that are listed at first, and that come with each press on the button. */
const WINDOW = 100;
/** An iteration under way changes all the time; its details are read this often. */
const AGAIN_MS = 1_500;
/** Somebody who reads the last lines follows; whoever scrolled up is left where they are. */
const NEAR_END = 24;
let page: Page | undefined;

/** The page of one run: what the server says of it, and where the person is in it. */
class Page {
  readonly runId: string;
  private readonly rows = new Map<number, Row>();
  private readonly details = new Map<number, readonly Section[]>();
  private readonly asked = new Set<number>();
  private readonly expanded: Set<number>;
  private readonly steps = new Steps((link) => { this.open(link); });
  private readonly spoken = new Spoken(() => { this.later(); });
  private window: number;
  private asTable: boolean;
  private at: number | undefined;
  private hint: { readonly sending: boolean; readonly told: string } = { sending: false, told: '' };
  private drawing = false;

  constructor(
    private run: ShownRun,
    kept: Kept,
  ) {
    this.runId = run.runId;
    this.expanded = new Set(kept.expanded);
    this.window = Math.max(WINDOW, kept.window ?? 0);
    this.asTable = kept.asTable ?? false;
    this.take(run);
    this.expanded.forEach((number) => { this.ask(number); });
  }

  take(run: ShownRun): void {
    const { rows, underWay, news } = run.timeline;
    this.run = run;
    for (const row of underWay === null ? rows : [...rows, underWay]) {
      const before = this.rows.get(row.number);
      this.rows.set(row.number, row);
      if (before !== undefined && before.version !== row.version) {
        this.askAgain(row.number);
      }
    }
    this.spoken.say(news);
    this.later();
  }

  detail(number: number, sections: readonly Section[]): void {
    this.details.set(number, sections);
    this.later();
  }

  did(steps: readonly Step[]): void {
    this.steps.take(steps);
    this.spoken.take(steps);
    this.later();
  }

  /** What came of a hint; one that was taken leaves the field empty for the next one. */
  hinted(text: string, failed: boolean): void {
    this.hint = { sending: false, told: text };
    this.spoken.say(text);
    this.draw();
    if (!failed) {
      field().value = '';
    }
  }

  focusHint(): void {
    this.draw();
    (this.run.hintable ? field() : main.querySelector<HTMLElement>('.steps'))?.focus();
  }

  keep(): void {
    const { runId, window: rows, asTable } = this;
    host.setState({ runId, expanded: [...this.expanded], window: rows, asTable, scroll: window.scrollY });
  }

  draw(): void {
    const { title, timeline } = this.run;
    const box = main.querySelector('.steps');
    const follows = box === null || box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
    const rows = [...this.rows.values()].sort((one, other) => one.number - other.number);
    const { asTable, at, window: length, expanded, details } = this;
    draw(main, [
      h('h1', {}, title),
      h('p', { class: 'facts' }, timeline.facts),
      h('p', { class: 'quiet' }, timeline.activity),
      this.spoken.newsView(),
      this.activity(),
      chartView({ points: pointsOf(timeline.before, rows), said: timeline.chart, asTable, at }, {
        point: (number) => {
          if (number !== this.at) {
            this.update(() => { this.at = number; });
          }
        },
        choose: (number) => { this.reveal(number); },
        toggle: () => { this.update(() => { this.asTable = !this.asTable; }); },
      }),
      rowsView({ rows: [...rows].reverse(), window: length, expanded, details }, {
        toggle: (number) => { this.toggle(number); },
        more: () => { this.more(); },
        open: (link) => { this.open(link); },
      }),
    ]);
    const drawn = main.querySelector('.steps');
    if (drawn !== null && follows) {
      drawn.scrollTop = drawn.scrollHeight;
    }
  }

  /** What the worker does, and a field to say something to it. */
  private activity(): Drawn {
    const items = this.steps.items();
    const { hintable } = this.run;
    const { sending, told } = this.hint;
    const onkeydown = (event: KeyboardEvent): void => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.sendHint();
      }
    };
    return h(
      'section',
      { class: 'activity', hidden: items.length === 0 && !hintable },
      h('h2', {}, 'Activity'),
      h('div', { class: 'steps', role: 'region', tabindex: 0, 'aria-label': 'Activity' }, h('ol', {}, items)),
      this.spoken.stepsView(),
      h(
        'div',
        { class: 'telling', hidden: !hintable },
        h('label', { for: 'hint' }, 'Hint to the worker'),
        h('textarea', { id: 'hint', rows: 2, maxlength: 20_000, onkeydown }),
        h('button', { type: 'button', class: 'send', disabled: sending, onclick: () => { this.sendHint(); } }, 'Send Hint'),
        h('p', { class: 'quiet' }, told),
      ),
    );
  }

  private sendHint(): void {
    const text = field().value.trim();
    if (text !== '' && !this.hint.sending) {
      this.hint = { ...this.hint, sending: true };
      this.draw();
      host.postMessage({ kind: 'hint', runId: this.runId, text });
    }
  }

  private open(link: Link): void {
    host.postMessage({ kind: 'open', runId: this.runId, link });
  }

  /** What a person does is drawn at once, what the server says with the next frame. */
  private update(change: () => void): void {
    change();
    this.draw();
    this.keep();
  }

  private later(): void {
    if (!this.drawing) {
      this.drawing = true;
      requestAnimationFrame(() => {
        this.drawing = false;
        // A page that another run's took the place of has throttles that may still call.
        if (page === this) {
          this.draw();
        }
      });
    }
  }

  private toggle(number: number): void {
    this.update(() => {
      if (!this.expanded.delete(number)) {
        this.expanded.add(number);
        this.ask(number);
      }
    });
  }

  private more(): void {
    const next = [...this.rows.keys()].sort((one, other) => other - one)[this.window];
    this.update(() => { this.window += WINDOW; });
    buttonOf(next)?.focus();
  }

  /** Opens one iteration, and goes there. */
  private reveal(number: number): void {
    this.window = Math.max(this.window, [...this.rows.keys()].filter((one) => one >= number).length);
    this.expanded.delete(number);
    this.toggle(number);
    buttonOf(number)?.focus({ preventScroll: true });
    buttonOf(number)?.closest('li')?.scrollIntoView({ block: 'nearest' });
  }

  private ask(number: number): void {
    host.postMessage({ kind: 'expand', runId: this.runId, number });
  }

  private askAgain(number: number): void {
    if (this.expanded.has(number) && !this.asked.has(number)) {
      this.asked.add(number);
      setTimeout(() => {
        this.asked.delete(number);
        if (this.expanded.has(number)) {
          this.ask(number);
        }
      }, AGAIN_MS);
    }
  }
}

function field(): HTMLTextAreaElement {
  return document.getElementById('hint') as HTMLTextAreaElement;
}

function buttonOf(iteration: number | undefined): HTMLElement | null {
  return main.querySelector(`.rows [data-key="${iteration ?? ''}"] button`);
}

function begin(run: ShownRun): void {
  const kept = host.getState() ?? {};
  const same = kept.runId === run.runId;
  draw(main, []);
  page = new Page(run, same ? kept : {});
  page.draw();
  window.scrollTo(0, same ? (kept.scroll ?? 0) : 0);
  page.keep();
}

window.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
  if (data.kind === 'none') {
    draw(main, [h('p', {}, data.text)]);
  } else if (data.kind === 'run' && data.runId !== page?.runId) {
    begin(data);
  } else if (data.runId !== page?.runId) {
    return;
  } else if (data.kind === 'run') {
    page.take(data);
  } else if (data.kind === 'steps') {
    page.did(data.steps);
  } else if (data.kind === 'hinted') {
    page.hinted(data.text, data.failed);
  } else if (data.kind === 'focusHint') {
    page.focusHint();
  } else {
    page.detail(data.number, data.sections);
  }
});

let resting: ReturnType<typeof setTimeout> | undefined;
window.addEventListener('scroll', () => {
  clearTimeout(resting);
  resting = setTimeout(() => page?.keep(), 200);
});

host.postMessage({ kind: 'ready' });

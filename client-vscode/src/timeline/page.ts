import type { Section, Step } from '../protocol';
import type { ChartRow, FromPage, Header, ToPage, Words } from './messages';
import { ActivityView } from './page/activityView';
import { ChartView } from './page/chartView';
import { element, setText } from './page/elements';
import { News } from './page/news';
import { RowsView } from './page/rowsView';

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
let page: Page | undefined;

/** The page of one run. */
class Page {
  private readonly title = element('h1');
  private readonly facts = element('p', { class: 'facts' });
  private readonly activity = element('p', { class: 'quiet' });
  private readonly news = new News();
  private readonly steps: ActivityView;
  private readonly chart: ChartView;
  private readonly list: RowsView;
  private readonly rows = new Map<number, ChartRow>();
  private asTable: boolean;
  private drawing = false;
  private header: Header | undefined;

  constructor(
    readonly runId: string,
    words: Words,
    kept: Kept,
  ) {
    this.asTable = kept.asTable ?? false;
    this.steps = new ActivityView(
      words,
      (action) => {
        host.postMessage({ kind: 'open', runId, action });
      },
      (text) => {
        host.postMessage({ kind: 'hint', runId, text });
      },
    );
    this.chart = new ChartView(
      words,
      this.asTable,
      (number) => {
        this.list.reveal(number);
      },
      (asTable) => {
        this.asTable = asTable;
        this.keep();
      },
    );
    this.list = new RowsView(words, new Set(kept.expanded), kept.window ?? 0, {
      expand: (number) => {
        host.postMessage({ kind: 'expand', runId, number });
      },
      open: (action) => {
        host.postMessage({ kind: 'open', runId, action });
      },
      changed: () => {
        this.keep();
      },
    });
    const main = document.getElementById('timeline');
    const above = [this.title, this.facts, this.activity, this.news.root, this.steps.root];
    main?.replaceChildren(...above, this.chart.root, this.list.root);
  }

  take(header: Header, rows: readonly ChartRow[]): void {
    this.header = header;
    for (const row of rows) {
      this.rows.set(row.number, row);
    }
    if (!this.drawing) {
      this.drawing = true;
      requestAnimationFrame(() => {
        this.drawing = false;
        this.draw();
      });
    }
  }

  detail(number: number, sections: readonly Section[]): void {
    this.list.detail(number, sections);
  }

  did(steps: readonly Step[]): void {
    this.steps.take(steps);
  }

  hinted(text: string, failed: boolean): void {
    this.steps.hinted(text, failed);
    this.news.say(text);
  }

  focusHint(): void {
    this.steps.focusField();
  }

  keep(): void {
    host.setState({
      runId: this.runId,
      expanded: [...this.list.expanded],
      window: this.list.window,
      asTable: this.asTable,
      scroll: window.scrollY,
    });
  }

  draw(): void {
    if (this.header === undefined) {
      return;
    }
    setText(this.title, this.header.title);
    setText(this.facts, this.header.facts);
    setText(this.activity, this.header.activity);
    this.news.say(this.header.news);
    this.steps.hintable(this.header.hintable);
    const rows = [...this.rows.values()].sort((one, other) => one.number - other.number);
    const { before, chart, note } = this.header;
    this.chart.show(before === undefined ? rows : [before, ...rows], chart, note);
    this.list.show(rows);
  }
}

function begin(message: Extract<ToPage, { kind: 'run' }>): void {
  const kept = host.getState() ?? {};
  const same = kept.runId === message.runId;
  page = new Page(message.runId, message.words, same ? kept : {});
  page.take(message.header, message.rows);
  page.draw();
  window.scrollTo(0, same ? (kept.scroll ?? 0) : 0);
  page.keep();
}

window.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
  if (data.kind === 'run') {
    begin(data);
  } else if (data.kind === 'none') {
    document.getElementById('timeline')?.replaceChildren(element('p', {}, data.text));
  } else if (data.runId !== page?.runId) {
    return;
  } else if (data.kind === 'update') {
    page.take(data.header, data.rows);
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

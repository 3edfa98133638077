import { type Chart, chartOf, pointAt } from '../chart';
import type { ChartRow, Words } from '../messages';
import { element, setText, svg } from './elements';

const NARROWEST = 240;

/** The chart, or the table that says the same. */
export class ChartView {
  readonly root = element('section', { class: 'chart' });
  private readonly figure = element('div', { class: 'figure' });
  private readonly empty = element('p', { class: 'quiet' });
  private readonly note = element('p', { class: 'quiet' });
  private readonly toggle = element('button', { type: 'button', class: 'toggle' });
  private readonly pointer: Pointer;
  private readonly table: TableView;
  private drawing: Element | undefined;
  private rows: readonly ChartRow[] = [];
  private said = '';
  private drawn = '';

  constructor(
    private readonly words: Words,
    private asTable: boolean,
    chosen: (number: number) => void,
    toggled: (asTable: boolean) => void,
  ) {
    this.pointer = new Pointer(words, chosen);
    this.table = new TableView(words);
    this.figure.append(this.pointer.root, this.pointer.readout);
    this.root.append(this.empty, this.figure, this.table.root, this.note, this.toggle);
    this.toggle.addEventListener('click', () => {
      this.asTable = !this.asTable;
      toggled(this.asTable);
      this.draw();
    });
    new ResizeObserver(() => {
      this.draw();
    }).observe(this.root);
  }

  /** `said` is the chart in words, `note` what is missing in it. */
  show(rows: readonly ChartRow[], said: string, note: string): void {
    setText(this.note, note);
    const done = rows.filter((row) => row.score !== null);
    const look = [said, ...done.map((row) => row.version)].join();
    if (look !== this.drawn) {
      this.drawn = look;
      this.rows = done;
      this.said = said;
      this.draw();
    }
  }

  /** What has the focus, or was scrolled, is kept: only what is drawn is made anew. */
  private draw(): void {
    const none = this.rows.length === 0;
    setText(this.empty, none ? this.words.empty : '');
    setText(this.toggle, this.asTable ? this.words.showChart : this.words.showTable);
    this.empty.hidden = !none;
    this.toggle.hidden = none;
    this.figure.hidden = none || this.asTable;
    this.table.root.hidden = none || !this.asTable;
    if (!this.table.root.hidden) {
      this.table.show(this.rows);
    }
    if (!this.figure.hidden) {
      const { chart, root } = drawChart(this.rows, Math.max(NARROWEST, this.root.clientWidth), this.said, this.words);
      this.drawing?.remove();
      this.drawing = root;
      this.figure.prepend(root);
      this.pointer.show(this.rows, chart, root);
    }
  }
}

/** The chart as a table: it scrolls by itself, and stays where it was when a row is added. */
class TableView {
  readonly root: HTMLElement;
  private readonly head = element('thead');
  private readonly body = element('tbody');

  constructor(private readonly words: Words) {
    this.root = element('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': words.table });
    this.root.append(element('table', {}, this.head, this.body));
  }

  show(rows: readonly ChartRow[]): void {
    const { words } = this;
    const priced = rows.some((row) => row.cost !== null && row.cost > 0);
    const heads = [words.iteration, words.score, ...(priced ? [words.cost] : [])];
    this.head.replaceChildren(element('tr', {}, ...heads.map((word) => element('th', { scope: 'col' }, word))));
    this.body.replaceChildren(...rows.map((row) => this.line(row, priced)));
  }

  private line(row: ChartRow, priced: boolean): Element {
    const cells = [`${Math.round((row.score ?? 0) * 100)} %`];
    if (priced) {
      cells.push(row.cost === null ? this.words.unknown : `$${row.cost.toFixed(2)}`);
    }
    const number = element('th', { scope: 'row' }, String(row.number));
    return element('tr', {}, number, ...cells.map((cell) => element('td', {}, cell)));
  }
}

const HEIGHT = 220;

/** The drawing, and where in it things are. */
function drawChart(rows: readonly ChartRow[], width: number, said: string, words: Words): { chart: Chart; root: Element } {
  const chart = chartOf(rows, width, HEIGHT);
  const root = svg('svg', { viewBox: `0 0 ${chart.width} ${chart.height}`, role: 'img', 'aria-label': said });
  root.append(...grid(chart));
  root.append(svg('path', { class: 'area', d: chart.scoreArea }), svg('path', { class: 'score', d: chart.score }));
  if (chart.cost !== '') {
    root.append(svg('path', { class: 'cost', d: chart.cost }));
  }
  root.append(...dots(chart, rows), ...legend(chart, words));
  return { chart, root };
}

function dots(chart: Chart, rows: readonly ChartRow[]): Element[] {
  const tones = new Map(rows.map((row) => [row.number, row.tone]));
  return chart.dots.map(({ number, x, y }) => svg('circle', { class: `dot ${tones.get(number) ?? ''}`, cx: x, cy: y, r: 4 }));
}

function grid({ plot, across, scoreTicks, costTicks }: Chart): Element[] {
  const lines = scoreTicks.map(({ at }) => svg('line', { class: 'grid', x1: plot.left, x2: plot.right, y1: at, y2: at }));
  const left = scoreTicks.map(({ at, label }) => text(plot.left - 10, at + 4, 'end', label));
  const right = costTicks.map(({ at, label }) => text(plot.right + 10, at + 4, 'start', label));
  const below = across.map(({ at, label }) => text(at, plot.bottom + 20, 'middle', label));
  return [...lines, ...left, ...right, ...below];
}

/** Above the chart, over the scale that each line is read on. */
function legend({ plot, cost }: Chart, words: Words): Element[] {
  const score = [
    svg('line', { class: 'score', x1: plot.left, x2: plot.left + 20, y1: 8, y2: 8 }),
    text(plot.left + 26, 12, 'start', words.score),
  ];
  return cost === '' ? score : [
    ...score,
    svg('line', { class: 'cost', x1: plot.right - 20, x2: plot.right, y1: 8, y2: 8 }),
    text(plot.right - 26, 12, 'end', words.cost),
  ];
}

function text(x: number, y: number, anchor: string, label: string): Element {
  return svg('text', { x, y, 'text-anchor': anchor, class: 'tick' }, label);
}

const FAR = 10;

/**
 * What the chart says of one iteration: of the one under the mouse, or of the one that the arrow keys have come to. It is
 * a slider over the iterations; a click or Enter opens the one that it is at.
 */
class Pointer {
  readonly root = element('div', { class: 'pointer', role: 'slider', tabindex: 0 });
  readonly readout = element('div', { class: 'readout', 'aria-hidden': 'true', hidden: true });
  private readonly line = svg('line', { class: 'at' });
  private readonly ring = svg('circle', { class: 'ring', r: 6 });
  private rows: readonly ChartRow[] = [];
  private chart: Chart | undefined;
  /** The iteration that it is at; the last one until somebody moves it. */
  private at: number | undefined;
  private hovered = false;
  private focused = false;

  constructor(
    words: Words,
    private readonly chosen: (number: number) => void,
  ) {
    this.root.setAttribute('aria-label', words.points);
    this.root.addEventListener('keydown', (event) => {
      this.pressed(event);
    });
    this.root.addEventListener('pointermove', (event) => {
      this.moved(event);
    });
    this.root.addEventListener('pointerleave', () => {
      this.hovered = false;
      this.draw();
    });
    this.root.addEventListener('click', () => {
      this.open();
    });
    for (const kind of ['focus', 'blur']) {
      this.root.addEventListener(kind, () => {
        this.focused = kind === 'focus';
        this.draw();
      });
    }
  }

  show(rows: readonly ChartRow[], chart: Chart, drawing: Element): void {
    this.rows = rows;
    this.chart = chart;
    drawing.append(this.line, this.ring);
    const { plot } = chart;
    Object.assign(this.root.style, {
      left: `${plot.left}px`,
      top: `${plot.top}px`,
      width: `${plot.right - plot.left}px`,
      height: `${plot.bottom - plot.top}px`,
    });
    this.draw();
  }

  private get index(): number {
    const found = this.rows.findIndex((row) => row.number === this.at);
    return found < 0 ? this.rows.length - 1 : found;
  }

  private moved(event: PointerEvent): void {
    const { left, width } = this.root.getBoundingClientRect();
    const part = width === 0 ? 0 : (event.clientX - left) / width;
    this.hovered = true;
    this.at = nearest(this.rows, part)?.number;
    this.draw();
  }

  private pressed(event: KeyboardEvent): void {
    const last = this.rows.length - 1;
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: this.index + 1,
      ArrowUp: this.index + 1,
      ArrowLeft: this.index - 1,
      ArrowDown: this.index - 1,
      PageUp: this.index + FAR,
      PageDown: this.index - FAR,
      Home: 0,
      End: last,
    };
    const to = steps[event.key];
    if (to !== undefined) {
      this.at = this.rows[Math.min(last, Math.max(0, to))]?.number;
      this.draw();
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.open();
    } else {
      return;
    }
    event.preventDefault();
  }

  private open(): void {
    const row = this.rows[this.index];
    // Nothing is known of what was before the first one, but how far it was.
    if (row !== undefined && row.number > 0) {
      this.chosen(row.number);
    }
  }

  private draw(): void {
    const row = this.rows[this.index];
    const [first, last] = [this.rows[0], this.rows.at(-1)];
    if (row === undefined || first === undefined || last === undefined || this.chart === undefined) {
      return;
    }
    const { plot, width } = this.chart;
    const { x, y } = pointAt(this.chart, row, first.number, last.number);
    const said = `${row.label}: ${row.point}`;
    const values = { valuemin: first.number, valuemax: last.number, valuenow: row.number, valuetext: said };
    for (const [name, value] of Object.entries(values)) {
      this.root.setAttribute(`aria-${name}`, String(value));
    }
    const shown = this.hovered || this.focused;
    setText(this.readout, said);
    this.readout.hidden = !shown;
    this.readout.style.left = `${x}px`;
    this.readout.style.top = `${y}px`;
    this.readout.classList.toggle('before', x > width / 2);
    for (const mark of [this.line, this.ring]) {
      mark.classList.toggle('shown', shown);
    }
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: plot.top, y2: plot.bottom })) {
      this.line.setAttribute(name, String(value));
    }
    this.ring.setAttribute('cx', String(x));
    this.ring.setAttribute('cy', String(y));
  }
}

/** The row at this part of the way from the first to the last. */
function nearest(rows: readonly ChartRow[], part: number): ChartRow | undefined {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) {
    return undefined;
  }
  const wanted = first.number + part * (last.number - first.number);
  const off = (row: ChartRow) => Math.abs(row.number - wanted);
  return rows.reduce((best, row) => (off(row) < off(best) ? row : best), first);
}

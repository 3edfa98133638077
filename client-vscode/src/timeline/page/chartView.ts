import { type Chart, chartOf } from '../chart';
import type { Row, Words } from '../messages';
import { element, svg } from './elements';

const HEIGHT = 220;
const NARROWEST = 320;

/** The chart, or the table that says the same. */
export class ChartView {
  readonly root = element('section', { class: 'chart' });
  private readonly figure = element('div', { class: 'figure' });
  private readonly toggle = element('button', { type: 'button', class: 'toggle' });
  private rows: readonly Row[] = [];
  private said = '';
  private drawn = '';

  constructor(
    private words: Words,
    private asTable: boolean,
    private readonly chosen: (number: number) => void,
    private readonly toggled: (asTable: boolean) => void,
  ) {
    this.root.append(this.figure, this.toggle);
    this.toggle.addEventListener('click', () => {
      this.asTable = !this.asTable;
      this.toggled(this.asTable);
      this.draw();
    });
    new ResizeObserver(() => {
      this.draw();
    }).observe(this.root);
  }

  show(rows: readonly Row[], words: Words, said: string): void {
    this.rows = rows;
    this.words = words;
    this.said = said;
    const look = [said, ...rows.filter((row) => row.score !== null).map((row) => row.version)].join();
    if (look !== this.drawn) {
      this.drawn = look;
      this.draw();
    }
  }

  private draw(): void {
    const done = this.rows.filter((row) => row.score !== null);
    this.toggle.textContent = this.asTable ? this.words.showChart : this.words.showTable;
    this.toggle.hidden = done.length === 0;
    if (done.length === 0) {
      this.figure.replaceChildren(element('p', { class: 'quiet' }, this.words.empty));
    } else {
      this.figure.replaceChildren(this.asTable ? table(done, this.words) : this.chart(done));
    }
  }

  private chart(rows: readonly Row[]): Element {
    const chart = chartOf(rows, Math.max(NARROWEST, this.root.clientWidth), HEIGHT);
    const drawing = svg('svg', { viewBox: `0 0 ${chart.width} ${chart.height}`, role: 'img', 'aria-label': this.said });
    drawing.append(...grid(chart), ...legend(chart, this.words));
    drawing.append(svg('path', { class: 'area', d: chart.scoreArea }), svg('path', { class: 'score', d: chart.score }));
    if (chart.cost !== '') {
      drawing.append(svg('path', { class: 'cost', d: chart.cost }));
    }
    drawing.append(...this.dots(chart, rows));
    return drawing;
  }

  /** The rows below are what the keyboard reaches; dots are for the pointer. */
  private dots(chart: Chart, rows: readonly Row[]): Element[] {
    return chart.dots.map((dot) => {
      const row = rows.find((one) => one.number === dot.number);
      const title = svg('title', {}, row === undefined ? '' : `${row.label}: ${row.facts}`);
      const circle = svg('circle', { class: `dot ${row?.tone ?? 'plain'}`, cx: dot.x, cy: dot.y, r: 4 }, title);
      circle.addEventListener('click', () => {
        this.chosen(dot.number);
      });
      return circle;
    });
  }
}

function grid({ plot, across, scoreTicks, costTicks }: Chart): Element[] {
  const lines = scoreTicks.map(({ at }) => svg('line', { class: 'grid', x1: plot.left, x2: plot.right, y1: at, y2: at }));
  const left = scoreTicks.map(({ at, label }) => text(plot.left - 6, at + 4, 'end', label));
  const right = costTicks.map(({ at, label }) => text(plot.right + 6, at + 4, 'start', label));
  const below = across.map(({ at, label }) => text(at, plot.bottom + 18, 'middle', label));
  return [...lines, ...left, ...right, ...below];
}

function legend({ plot, cost }: Chart, words: Words): Element[] {
  const score = text(plot.left + 8, plot.top + 12, 'start', words.score, 'legend score-text');
  return cost === '' ? [score] : [score, text(plot.right - 8, plot.bottom - 8, 'end', words.cost, 'legend cost-text')];
}

function text(x: number, y: number, anchor: string, label: string, kind = 'tick'): Element {
  return svg('text', { x, y, 'text-anchor': anchor, class: kind }, label);
}

function table(rows: readonly Row[], words: Words): Element {
  const heads = [words.iteration, words.score, words.cost].map((word) => element('th', { scope: 'col' }, word));
  const body = rows.map((row) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, String(row.number)),
      element('td', {}, `${Math.round((row.score ?? 0) * 100)} %`),
      element('td', {}, row.cost === null ? '–' : `$${row.cost.toFixed(2)}`),
    ),
  );
  const whole = element('table', {}, element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...body));
  return element('div', { class: 'scroll', tabindex: 0 }, whole);
}

import type { Chart } from '../chart';
import { pointAt } from '../chart';
import type { Row, Words } from '../messages';
import { element, setText, svg } from './elements';

const FAR = 10;

/**
 * What the chart says of one iteration: of the one under the mouse, or of the one that the arrow keys have come to. It is
 * a slider over the iterations; a click or Enter opens the one that it is at.
 */
export class Pointer {
  readonly root = element('div', { class: 'pointer', role: 'slider', tabindex: 0 });
  readonly readout = element('div', { class: 'readout', 'aria-hidden': 'true', hidden: true });
  private readonly line = svg('line', { class: 'at' });
  private readonly ring = svg('circle', { class: 'ring', r: 6 });
  private rows: readonly Row[] = [];
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

  show(rows: readonly Row[], chart: Chart, drawing: Element): void {
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
function nearest(rows: readonly Row[], part: number): Row | undefined {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) {
    return undefined;
  }
  const wanted = first.number + part * (last.number - first.number);
  const off = (row: Row) => Math.abs(row.number - wanted);
  return rows.reduce((best, row) => (off(row) < off(best) ? row : best), first);
}

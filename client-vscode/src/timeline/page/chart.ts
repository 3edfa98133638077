import { ceiling, costNote, dollars, isPriced, type Point, wholeTicks } from '../model';
import { type Content, type Drawn, h } from './drawing';

interface ChartShown {
  readonly points: readonly Point[];
  /** The chart in words. */
  readonly said: string;
  readonly asTable: boolean;
  /** The iteration that the pointer is at; the last one until somebody moves it. */
  readonly at: number | undefined;
}

interface ChartEvents {
  /** The pointer has come to an iteration. */
  point(number: number): void;
  /** One is to be opened. */
  choose(number: number): void;
  toggle(): void;
}

/** The chart, or the table that says the same. */
export function chartView({ points, said, asTable, at }: ChartShown, events: ChartEvents): Drawn {
  const none = points.length === 0;
  const index = points.findIndex(({ number }) => number === at);
  const shown = none ? false : asTable ? table(points) : figure(points, said, index < 0 ? points.length - 1 : index, events);
  return h(
    'section',
    { class: 'chart' },
    h('p', { class: 'quiet', hidden: !none }, 'No iteration has ended yet.'),
    shown,
    h('p', { class: 'quiet' }, costNote(points)),
    h('button', { type: 'button', class: 'toggle', hidden: none, onclick: () => { events.toggle(); } }, asTable ? 'Show as chart' : 'Show as table'),
  );
}

/** It scrolls by itself, and stays where it was when a row is added. */
function table(points: readonly Point[]): Drawn {
  const priced = points.some(isPriced);
  const rows = points.map(({ number, score, cost }) =>
    h(
      'tr',
      { 'data-key': number },
      h('th', { scope: 'row' }, String(number)),
      h('td', {}, `${Math.round(score * 100)} %`),
      priced && h('td', {}, cost === null ? 'unknown' : `$${cost.toFixed(2)}`),
    ),
  );
  const heads = ['Iteration', 'Score', ...(priced ? ['Cost so far'] : [])].map((word) => h('th', { scope: 'col' }, word));
  return h(
    'div',
    { 'data-key': 'table', class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Score and cost of the iterations' },
    h('table', {}, h('thead', {}, h('tr', {}, heads)), h('tbody', {}, rows)),
  );
}

/** More dots than these run into each other. */
const MOST_DOTS = 120;

/** The score (0 to 100 %, left) and the cost so far (right) over the iterations. Places are parts of the figure, in percent. */
function figure(points: readonly Point[], said: string, index: number, events: ChartEvents): Drawn {
  const [first = 1, last = 1] = [points[0]?.number, points.at(-1)?.number];
  const most = ceiling(Math.max(...points.map(({ cost }) => cost ?? 0)));
  const x = (number: number): number => (first === last ? 50 : percent((number - first) / (last - first)));
  const score = path(points.map((one) => [x(one.number), percent(1 - one.score)]));
  const cost = most === 0 ? '' : path(points.flatMap((one) => (one.cost === null ? [] : [[x(one.number), percent(1 - one.cost / most)]])));
  const dots = points.length > MOST_DOTS ? [] : points;
  const parts: Content[] = [
    h(
      'svg',
      { viewBox: '0 0 100 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      h('path', { class: 'grid', d: 'M0 0H100M0 50H100M0 100H100' }),
      h('path', { class: 'area', d: `${score}V100H${x(first)}Z` }),
      h('path', { class: 'score', d: score }),
      cost !== '' && h('path', { class: 'cost', d: cost }),
    ),
    ...dots.map((one) => h('span', { class: `dot ${one.tone}`, style: place(x(one.number), percent(1 - one.score)) })),
    ...[0, 0.5, 1].map((part) => tick('left', `top: ${100 - part * 100}%`, `${part * 100} %`)),
    ...(most === 0 ? [] : [0, 0.5, 1].map((part) => tick('right', `top: ${100 - part * 100}%`, dollars(part * most)))),
    ...wholeTicks(first, last).map((number) => tick('below', `left: ${x(number)}%`, String(number))),
    h('span', { class: 'tick legend left' }, 'Score'),
    most > 0 && h('span', { class: 'tick legend right' }, 'Cost so far'),
  ];
  return h(
    'div',
    { 'data-key': 'figure', class: most === 0 ? 'figure' : 'figure priced' },
    h('div', { class: 'drawing', role: 'img', 'aria-label': said }, parts),
    pointer(points, index, x, events),
  );
}

function tick(where: string, style: string, label: string): Drawn {
  return h('span', { class: `tick ${where}`, style }, label);
}

function place(x: number, y: number): string {
  return `left: ${x}%; top: ${y}%`;
}

function percent(part: number): number {
  return Math.round(part * 10_000) / 100;
}

function path(points: readonly (readonly number[])[]): string {
  return points.map(([x = 0, y = 0], at) => `${at === 0 ? 'M' : 'L'}${x} ${y}`).join('');
}

const FAR = 10;

/**
 * What the chart says of one iteration: of the one under the mouse, or of the one that the arrow keys have come to. It is
 * a slider over the iterations; a click or Enter opens the one that it is at.
 */
function pointer(points: readonly Point[], index: number, x: (number: number) => number, events: ChartEvents): Drawn {
  const [one, first, last] = [points[index], points[0], points.at(-1)];
  if (one === undefined || first === undefined || last === undefined) {
    return h('div');
  }
  const said = `${one.label}: ${one.said}`;
  const open = (): void => {
    // Nothing is known of what was before the first one, but how far it was.
    if (one.number > 0) {
      events.choose(one.number);
    }
  };
  const slider = {
    class: 'pointer',
    role: 'slider',
    tabindex: 0,
    'aria-label': 'Iterations in the chart',
    'aria-valuemin': first.number,
    'aria-valuemax': last.number,
    'aria-valuenow': one.number,
    'aria-valuetext': said,
    onclick: open,
    onpointermove: (event: PointerEvent) => {
      const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
      const part = width === 0 ? 0 : (event.clientX - left) / width;
      events.point(nearest(points, first.number + part * (last.number - first.number)));
    },
    onkeydown: (event: KeyboardEvent) => {
      const to = movedTo(event.key, index, points.length - 1);
      if (to !== undefined) {
        events.point(points[to]?.number ?? one.number);
      } else if (event.key === 'Enter' || event.key === ' ') {
        open();
      } else {
        return;
      }
      event.preventDefault();
    },
  };
  const at = x(one.number);
  return h(
    'div',
    { class: 'pointing' },
    h('div', slider),
    h('div', { class: 'at', style: `left: ${at}%` }),
    h('div', { class: 'ring', style: place(at, percent(1 - one.score)) }),
    h('div', { class: at > 50 ? 'readout before' : 'readout', 'aria-hidden': 'true', style: place(at, percent(1 - one.score)) }, said),
  );
}

function movedTo(key: string, index: number, last: number): number | undefined {
  const moved: Readonly<Record<string, number>> = {
    ArrowRight: index + 1,
    ArrowUp: index + 1,
    ArrowLeft: index - 1,
    ArrowDown: index - 1,
    PageUp: index + FAR,
    PageDown: index - FAR,
    Home: 0,
    End: last,
  };
  const to = moved[key];
  return to === undefined ? undefined : Math.min(last, Math.max(0, to));
}

function nearest(points: readonly Point[], wanted: number): number {
  const off = (number: number): number => Math.abs(number - wanted);
  return points.reduce((best, { number }) => (off(number) < off(best) ? number : best), points[0]?.number ?? 1);
}

import type { ChartRow } from './messages';

/** Where things go in the chart's own units; the page draws them. */
export type Chart = ReturnType<typeof chartOf>;

interface Tick {
  readonly at: number;
  readonly label: string;
}

const MARGIN = { left: 48, top: 30, right: 56, bottom: 28 };
/** Without a scale on the right. */
const NO_COST = 16;
/** More dots than these run into each other. */
const MOST_DOTS = 120;

/** The score (0 to 100 %, left) and the cost so far (right) over the iterations that have ended. */
export function chartOf(rows: readonly ChartRow[], width: number, height: number) {
  const done = rows.filter((row) => row.score !== null);
  const mostCost = ceiling(Math.max(0, ...done.map((row) => row.cost ?? 0)));
  const right = width - (mostCost === 0 ? NO_COST : MARGIN.right);
  const plot = { left: MARGIN.left, top: MARGIN.top, right, bottom: height - MARGIN.bottom };
  const [first, last] = [done[0]?.number ?? 1, done.at(-1)?.number ?? 1];
  const x = scale(first, last, plot.left, plot.right);
  const y = scale(0, 1, plot.bottom, plot.top);
  const points = done.map((row) => ({ number: row.number, x: x(row.number), y: y(row.score ?? 0) }));
  const costY = scale(0, mostCost, plot.bottom, plot.top);
  const priced = done.flatMap((row) => (row.cost === null ? [] : [{ x: x(row.number), y: costY(row.cost) }]));
  const score = path(points);
  return {
    width,
    height,
    plot,
    score,
    scoreArea: points.length === 0 ? '' : area(score, points, plot.bottom),
    cost: mostCost === 0 ? '' : path(priced),
    dots: points.length > MOST_DOTS ? [] : points,
    across: wholeTicks(first, last).map((at): Tick => ({ at: x(at), label: String(at) })),
    scoreTicks: [0, 0.5, 1].map((at): Tick => ({ at: y(at), label: `${String(at * 100)} %` })),
    costTicks: mostCost === 0 ? [] : [0, 0.5, 1].map((part) => costTick(part * mostCost, costY)),
  };
}

/** Where one iteration is in a chart from the first to the last one. */
export function pointAt({ plot }: Chart, row: ChartRow, first: number, last: number): { x: number; y: number } {
  const x = scale(first, last, plot.left, plot.right)(row.number);
  return { x, y: scale(0, 1, plot.bottom, plot.top)(row.score ?? 0) };
}

function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  const span = to - from;
  return (value) => round(span === 0 ? (start + end) / 2 : start + ((value - from) / span) * (end - start));
}

function path(points: readonly { x: number; y: number }[]): string {
  return points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${String(x)} ${String(y)}`).join('');
}

function area(line: string, points: readonly { x: number }[], bottom: number): string {
  const [first, last] = [points[0]?.x ?? 0, points.at(-1)?.x ?? 0];
  return `${line}L${String(last)} ${String(bottom)}L${String(first)} ${String(bottom)}Z`;
}

/** About six whole numbers from the first to the last, both among them. */
export function wholeTicks(first: number, last: number): number[] {
  const step = Math.max(1, ceiling((last - first) / 6));
  const found = [first];
  for (let at = Math.ceil((first + 1) / step) * step; at < last; at += step) {
    if (last - at >= step / 2) {
      found.push(at);
    }
  }
  return last > first ? [...found, last] : found;
}

/** The next of 1, 2, 5, 10, 20, 50 ... (and 0.5, 0.2 ...) that is at least `value`; 0 for 0. */
export function ceiling(value: number): number {
  if (value <= 0) {
    return 0;
  }
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return Number((factor * power).toPrecision(6));
}

function costTick(usd: number, y: (value: number) => number): Tick {
  const exact = Number(usd.toPrecision(3));
  const cents = !Number.isInteger(exact) && Number.isInteger(Math.round(exact * 1e6) / 1e4);
  return { at: y(usd), label: `$${cents ? exact.toFixed(2) : String(exact)}` };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

import type { Row } from '../protocol';

/** An iteration that has ended, with what the run had cost by its end, in US dollars: not known once one price isn't. */
export interface Point {
  readonly number: number;
  readonly label: string;
  readonly said: string;
  readonly score: number;
  readonly tone: Row['tone'];
  readonly cost: number | null;
}

/** The points of a run, oldest first: how far the goal was before the first iteration, then after each. */
export function pointsOf(before: Row | null, rows: readonly Row[]): Point[] {
  let cost: number | null = 0;
  const ended = rows.filter(({ score }) => score !== null);
  // Where earlier rows are missing, the chart doesn't begin at the beginning.
  return [...(ended[0]?.number === 1 && before !== null ? [before] : []), ...ended].flatMap(({ number, label, point, score, tone, usd }) => {
    if (score === null) {
      return [];
    }
    cost = cost === null || usd === null ? null : cost + usd;
    const said = cost === null || cost === 0 ? point : `${point} · $${cost.toFixed(cost < 0.01 ? 4 : 2)} so far`;
    return [{ number, label, said, score, tone, cost }];
  });
}

/** What is missing in the chart. */
export function costNote(points: readonly Point[]): string {
  if (points.every(({ cost }) => cost !== null)) {
    return '';
  }
  return points.some(isPriced)
    ? 'The cost is shown up to where the price of a model is not known.'
    : 'The cost isn’t shown: the price of the model is not known.';
}

export function isPriced({ cost }: Point): boolean {
  return cost !== null && cost > 0;
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

/** A place of the scale: in cents, unless it is a whole number of dollars or not one of cents. */
export function dollars(usd: number): string {
  const exact = Number(usd.toPrecision(3));
  const cents = !Number.isInteger(exact) && Number.isInteger(Math.round(exact * 1e6) / 1e4);
  return `$${cents ? exact.toFixed(2) : String(exact)}`;
}

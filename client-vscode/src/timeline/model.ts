import type { Row, Snapshot } from '../protocol';
import type { ChartRow, Header } from './messages';

type Translate = (message: string, ...values: (string | number)[]) => string;

/** The rows of a run, oldest first, each with what the run had cost by its end: not known once one price isn't. */
export function chartRows(rows: readonly Row[], underWay: Row | null, t: Translate): ChartRow[] {
  let cost: number | null = 0;
  const ended = rows.map((row): ChartRow => {
    cost = cost === null || row.usd === null ? null : cost + row.usd;
    const point = cost === null || cost === 0 ? row.point : `${row.point} · ${t('{0} so far', money(cost))}`;
    return { ...row, point, cost };
  });
  return underWay === null ? ended : [...ended, { ...underWay, cost: null }];
}

/** `run` as it is now, over the rows of all its iterations. */
export function headerOf({ title, view }: Snapshot, rows: readonly ChartRow[], t: Translate): Header {
  const done = rows.filter(({ score }) => score !== null);
  const { facts, activity, before, chart, news } = view.timeline;
  // Nothing where earlier rows are missing.
  const first = done[0]?.number === 1 && before !== null ? { ...before, cost: 0 } : undefined;
  return { title, facts, activity, before: first, hintable: view.hintable, chart, news, note: costNote(done, t) };
}

function costNote(done: readonly ChartRow[], t: Translate): string {
  if (done.every(({ cost }) => cost !== null)) {
    return '';
  }
  return done.some(({ cost }) => cost !== null && cost > 0)
    ? t('The cost is shown up to where the price of a model is not known.')
    : t('The cost isn’t shown: the price of the model is not known.');
}

function money(usd: number): string {
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

/** The rows that differ from those the page has. */
export function changedRows(before: ReadonlyMap<number, ChartRow>, rows: readonly ChartRow[]): ChartRow[] {
  return rows.filter((row) => JSON.stringify(row) !== JSON.stringify(before.get(row.number)));
}

import { describe, expect, it } from 'vitest';
import { ceiling, chartOf, pointAt, wholeTicks } from '../src/timeline/chart';
import { changedRows, chartRows, headerOf } from '../src/timeline/model';
import { row, snapshot } from './samples';

const t = (message: string, ...values: (string | number)[]): string => message.replace(/\{(\d+)\}/gu, (_, index) => String(values[Number(index)]));
const rowsOf = (...prices: (number | null)[]) => chartRows(prices.map((usd, at) => row(at + 1, { usd })), null, t);

describe('the rows of the chart', () => {
  it('add up the cost, and let it end where a price is unknown', () => {
    const rows = rowsOf(0.5, 0.25, null);
    expect(rows.map(({ cost }) => cost)).toEqual([0.5, 0.75, null]);
    expect(rows.map(({ point }) => point)).toEqual(['40 % · 2 of 5 met · $0.50 so far', '40 % · 2 of 5 met · $0.75 so far', '40 % · 2 of 5 met']);
  });

  it('end with what is under way', () => {
    expect(chartRows([row(1)], row(2, { score: null }), t).map(({ number, cost }) => [number, cost])).toEqual([[1, 0.04], [2, null]]);
  });

  it('are sent where they changed', () => {
    const rows = rowsOf(1, 1, 1);
    const known = new Map(rows.slice(0, 2).map((one) => [one.number, one]));
    expect(changedRows(known, rows).map(({ number }) => number)).toEqual([3]);
  });
});

describe('what stands above the rows', () => {
  const note = (...prices: (number | null)[]) => headerOf(snapshot(), rowsOf(...prices), t).note;

  it('says once that the cost is not known', () => {
    expect(note(0, 0)).toBe('');
    expect(note(null, null)).toBe('The cost isn’t shown: the price of the model is not known.');
    expect(note(0.5, null)).toBe('The cost is shown up to where the price of a model is not known.');
  });

  it('begins before the first iteration, where that is known', () => {
    const run = snapshot();
    const timeline = { ...run.view.timeline, before: row(0, { score: 0.25 }) };
    const begun = snapshot({ view: { timeline } });
    expect(headerOf(begun, rowsOf(1), t).before).toMatchObject({ number: 0, score: 0.25, cost: 0 });
    expect(headerOf(begun, chartRows([row(7)], null, t), t).before).toBeUndefined();
  });
});

describe('chartOf', () => {
  it('puts the score on the left and the cost on the right', () => {
    const rows = chartRows([row(1, { score: 0, usd: 1 }), row(2, { score: 1, usd: 1 })], null, t);
    const chart = chartOf(rows, 300, 200);
    expect(chart.plot).toEqual({ left: 48, top: 30, right: 244, bottom: 172 });
    expect(chart.score).toBe('M48 172L244 30');
    expect(chart.cost).toBe('M48 101L244 30');
    expect(chart.scoreTicks.map((tick) => tick.label)).toEqual(['0 %', '50 %', '100 %']);
    expect(chart.costTicks.map((tick) => tick.label)).toEqual(['$0', '$1', '$2']);
    const ticks = (usd: number) => chartOf(rowsOf(usd), 300, 200).costTicks.map((tick) => tick.label);
    expect([ticks(0.2), ticks(0.005)]).toEqual([['$0', '$0.10', '$0.20'], ['$0', '$0.0025', '$0.005']]);
    expect(rows.map((one) => pointAt(chart, one, 1, 2))).toEqual(chart.dots.map(({ x, y }) => ({ x, y })));
  });

  it('draws one iteration, none, and a thousand', () => {
    expect(chartOf([], 300, 200)).toMatchObject({ score: '', cost: '', scoreArea: '', dots: [] });
    expect(chartOf(chartRows([row(7)], null, t), 300, 200).dots).toEqual([{ number: 7, x: 146, y: 115.2 }]);
    const long = chartOf(chartRows(Array.from({ length: 1000 }, (_, at) => row(at + 1)), null, t), 300, 200);
    expect(long.dots).toEqual([]);
    expect(long.score.split('L').length).toBe(1000);
  });
});

describe('ticks', () => {
  it('are whole, few, and have both ends', () => {
    expect(wholeTicks(1, 1)).toEqual([1]);
    expect(wholeTicks(1, 4)).toEqual([1, 2, 3, 4]);
    expect(wholeTicks(1, 1000)).toEqual([1, 200, 400, 600, 800, 1000]);
    expect(wholeTicks(1, 37)).toEqual([1, 10, 20, 30, 37]);
  });

  it('end at a round number', () => {
    expect([0, 0.03, 0.2, 1, 1.2, 37, 999].map(ceiling)).toEqual([0, 0.05, 0.2, 1, 2, 50, 1000]);
  });
});

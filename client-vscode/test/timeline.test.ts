import { describe, expect, it } from 'vitest';
import { ceiling, costNote, dollars, pointsOf, wholeTicks } from '../src/timeline/model';
import { row } from './samples';

const points = (...prices: (number | null)[]) => pointsOf(null, prices.map((usd, at) => row(at + 1, { usd })));

describe('the points of the chart', () => {
  it('add up the cost, and let it end where a price is unknown', () => {
    const found = points(0.5, 0.25, null);
    expect(found.map(({ cost }) => cost)).toEqual([0.5, 0.75, null]);
    expect(found.map(({ said }) => said)).toEqual(['40 % · 2 of 5 met · $0.50 so far', '40 % · 2 of 5 met · $0.75 so far', '40 % · 2 of 5 met']);
  });

  it('end before what is under way', () => {
    expect(pointsOf(null, [row(1), row(2, { score: null })]).map(({ number, cost }) => [number, cost])).toEqual([[1, 0.04]]);
  });

  it('begin before the first iteration, where that is known', () => {
    const before = row(0, { score: 0.25, usd: 0 });
    expect(pointsOf(before, [row(1)])[0]).toMatchObject({ number: 0, score: 0.25, cost: 0 });
    expect(pointsOf(before, [row(1, { score: null })])).toEqual([]);
    expect(pointsOf(before, [row(7)]).map(({ number }) => number)).toEqual([7]);
  });
});

describe('what is missing in the chart', () => {
  it('is said once', () => {
    expect(costNote(points(0, 0))).toBe('');
    expect(costNote(points(null, null))).toBe('The cost isn’t shown: the price of the model is not known.');
    expect(costNote(points(0.5, null))).toBe('The cost is shown up to where the price of a model is not known.');
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

  it('are in cents where that says it', () => {
    expect([0, 0.1, 0.2, 0.0025, 1, 1.5].map(dollars)).toEqual(['$0', '$0.10', '$0.20', '$0.0025', '$1', '$1.50']);
  });
});

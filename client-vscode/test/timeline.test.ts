import { describe, expect, it } from 'vitest';
import { ceiling, chartOf, pointAt, wholeTicks } from '../src/timeline/chart';
import { iterationSections } from '../src/timeline/detail';
import { fromPage } from '../src/timeline/messages';
import { changedRows, timelineHeader, timelineRows } from '../src/timeline/model';
import { english, makeDetail, makeIteration, makeIterations, makeSnapshot } from './snapshots';

describe('timelineRows', () => {
  it('adds up the cost, and lets it end where a price is unknown', () => {
    const iterations = [makeIteration(1, { usd: 0.5 }), makeIteration(2, { usd: 0.25 }), makeIteration(3, { usd: null })];
    const rows = timelineRows(makeSnapshot({ status: 'complete' }), iterations, english);
    expect(rows.map((row) => row.cost)).toEqual([0.5, 0.75, null]);
    expect(rows.map((row) => row.point)).toEqual([
      '40 % · 2 of 5 met · $0.50 so far',
      '40 % · 2 of 5 met · $0.75 so far',
      '40 % · 2 of 5 met',
    ]);
    expect(rows[2]?.facts).toBe('2 of 5 met · cost unknown · 12 s · 0 files changed');
  });

  it('shows the iteration under way', () => {
    const snapshot = makeSnapshot({ iteration: 2, activity: 'edits a.py' });
    const rows = timelineRows(snapshot, [makeIteration(1, { changedFiles: ['a'] })], english);
    expect(rows.map((row) => [row.label, row.score, row.summary])).toEqual([
      ['Iteration 1', 0.4, ''],
      ['Iteration 2', null, 'edits a.py'],
    ]);
    expect(timelineRows({ ...snapshot, status: 'capped' }, [makeIteration(1)], english).length).toBe(1);
  });

  it('sends the rows that changed', () => {
    const rows = timelineRows(makeSnapshot(), makeIterations(1, 3), english);
    const known = new Map(rows.slice(0, 2).map((row) => [row.number, row]));
    expect(changedRows(known, rows).map((row) => row.number)).toEqual([3]);
  });
});

describe('timelineHeader', () => {
  it('says the chart in words', () => {
    const rows = timelineRows(makeSnapshot(), [makeIteration(1), makeIteration(2, { score: 1 })], english);
    expect(timelineHeader(makeSnapshot({ iteration: 2 }), rows, english)).toEqual({
      title: 'Export',
      facts: 'running · iteration 2 of 10 · 0 of 0 met · 41 s',
      activity: '',
      chart: 'Score and cost over 2 iterations: the score went from 40 % to 100 %, the cost is $0.08.',
      note: '',
      hintable: true,
      news: 'running. Iteration 2 has ended: 2 of 5 met · $0.04 · 12 s · 0 files changed',
    });
  });

  const header = (...prices: (number | null)[]) => {
    const iterations = prices.map((usd, index) => makeIteration(index + 1, { usd }));
    return timelineHeader(makeSnapshot(), timelineRows(makeSnapshot(), iterations, english), english);
  };

  it('says nothing of the cost where no model was asked', () => {
    expect(header(0, 0)).toMatchObject({ chart: 'Score over 2 iterations: the score went from 40 % to 40 %.', note: '' });
  });

  it('says once that the cost is not known', () => {
    expect(header(null, null)).toMatchObject({
      chart: 'Score over 2 iterations: the score went from 40 % to 40 %. What it cost is not known.',
      note: 'The cost isn’t shown: the price of the model is not known.',
    });
    expect(header(0.5, null).note).toBe('The cost is shown up to where the price of a model is not known.');
    const rows = timelineRows(makeSnapshot(), [makeIteration(1, { usd: null })], english);
    expect(rows[0]?.facts).toBe('2 of 5 met · 12 s · 0 files changed');
  });

  it('begins the chart before the first iteration, where that is known', () => {
    const snapshot = makeSnapshot({ baseline: { score: 0.25, met: 1, total: 4 } });
    const rows = timelineRows(snapshot, [makeIteration(1, { score: 1 })], english);
    const { before, chart } = timelineHeader(snapshot, rows, english);
    expect(before).toMatchObject({ number: 0, score: 0.25, point: '25 % · 1 of 4 met' });
    expect(chart).toMatch(/^Score (and cost )?over 1 iterations: the score went from 25 % to 100 %/);
    expect(chartOf([before, ...rows].filter((row) => row !== undefined), 300, 200).dots.map((dot) => dot.number)).toEqual([0, 1]);
    const later = timelineRows(snapshot, [makeIteration(7)], english);
    expect(timelineHeader(snapshot, later, english).before).toBeUndefined();
  });

  it('tells a screen reader of what has ended, not of every step', () => {
    const news = (activity: string) => {
      const snapshot = makeSnapshot({ iteration: 2, activity });
      return timelineHeader(snapshot, timelineRows(snapshot, [makeIteration(1)], english), english).news;
    };
    expect(news('reads a.py')).toBe(news('edits a.py'));
    expect(header().news).toBe('running');
  });
});

describe('chartOf', () => {
  it('puts the score on the left and the cost on the right', () => {
    const iterations = [makeIteration(1, { score: 0, usd: 1 }), makeIteration(2, { score: 1, usd: 1 })];
    const chart = chartOf(timelineRows(makeSnapshot(), iterations, english), 300, 200);
    expect(chart.plot).toEqual({ left: 48, top: 30, right: 244, bottom: 172 });
    expect(chart.score).toBe('M48 172L244 30');
    expect(chart.cost).toBe('M48 101L244 30');
    expect(chart.scoreTicks.map((tick) => tick.label)).toEqual(['0 %', '50 %', '100 %']);
    expect(chart.costTicks.map((tick) => tick.label)).toEqual(['$0', '$1', '$2']);
    const ticks = (usd: number) =>
      chartOf(timelineRows(makeSnapshot(), [makeIteration(1, { usd })], english), 300, 200).costTicks.map((tick) => tick.label);
    expect([ticks(0.2), ticks(0.005)]).toEqual([['$0', '$0.10', '$0.20'], ['$0', '$0.0025', '$0.005']]);
    expect(chart.dots.map((dot) => dot.number)).toEqual([1, 2]);
    const rows = timelineRows(makeSnapshot(), iterations, english);
    expect(rows.map((row) => pointAt(chart, row, 1, 2))).toEqual(chart.dots.map(({ x, y }) => ({ x, y })));
  });

  it('draws one iteration, none, and a thousand', () => {
    expect(chartOf([], 300, 200)).toMatchObject({ score: '', cost: '', scoreArea: '', dots: [] });
    expect(chartOf(timelineRows(makeSnapshot(), [makeIteration(7)], english), 300, 200).dots).toEqual([
      { number: 7, x: 146, y: 115.2 },
    ]);
    const long = chartOf(timelineRows(makeSnapshot(), makeIterations(1, 1000), english), 300, 200);
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

describe('iterationSections', () => {
  it('says what was done, checked, found, changed and paid', () => {
    const usage = { inputTokens: 900, outputTokens: 100, cachedTokens: 0, usd: 0.01 };
    const call = { id: 'C1', role: 'worker' as const, model: 'm', usage, error: null };
    const detail = makeDetail({
      number: 2,
      claim: { state: 'blocked', text: 'no key' },
      steps: [{ kind: 'run_command', summary: 'pytest', ok: false }],
      checks: [{ checkId: 'c', command: 'pytest -q', passed: true, reason: '', evidenceId: 'E4' }],
      verdict: [
        { requirementId: 'r', number: 1, status: 'met', reason: 'ok', evidenceIds: ['E4'], decidedBy: 'check', grade: null, flaky: false, renewing: false },
      ],
      calls: [call, { ...call, id: 'C2' }, { ...call, id: 'C3', role: 'judge', usage: null, error: 'cut off' }],
      changedFiles: ['file:///w/src/a%20b.py', 'file:///w/c.py'],
    });
    const said = iterationSections(detail, ['src/a b.py'], english).map(({ title, lines }) => [
      title,
      ...lines.map(({ lead, text, note, tone }) => [lead, text, note, tone].join(' | ')),
    ]);
    const verdict = iterationSections(detail, [], english).find(({ title }) => title === 'Verdict');
    expect(verdict?.lines[0]?.action).toEqual({ kind: 'evidence', evidenceId: 'E4' });
    expect(said).toEqual([
      ['What the worker did', 'run_command | pytest |  | bad'],
      ['What the worker says', ' | no key | blocked | plain'],
      ['Checks', ' | pytest -q | passed | good'],
      ['Verdict', ' | R1 met | ok | good'],
      ['Changed files', ' | src/a b.py |  | plain', ' | c.py |  | plain'],
      ['Calls to models', ' | worker: m | 2 calls · 2000 tokens · $0.02 | plain', ' | judge: m | 1 call · 0 tokens · $0.00 · 1 failed | bad'],
    ]);
  });

  it('leaves out what there is nothing of, and most of what there is too much of', () => {
    const steps = Array.from({ length: 500 }, (_, index) => ({ kind: 'edit', summary: String(index), ok: true }));
    const [section, ...others] = iterationSections(makeDetail({ steps }), [], english);
    expect(others).toEqual([]);
    expect(section?.lines.length).toBe(201);
    expect(section?.lines.at(-1)?.text).toBe('… and 300 more');
  });
});

describe('fromPage', () => {
  const change = { kind: 'change', number: 3, uri: 'file:///w/a' };

  it('takes what the page sends', () => {
    expect(fromPage({ kind: 'ready' })).toEqual({ kind: 'ready' });
    expect(fromPage({ kind: 'expand', runId: 'r', number: 3 })).toEqual({ kind: 'expand', runId: 'r', number: 3 });
    expect(fromPage({ kind: 'open', runId: 'r', action: change })).toEqual({ kind: 'open', runId: 'r', action: change });
  });

  it.each([
    undefined,
    null,
    'ready',
    {},
    { kind: 'expand', runId: 'r' },
    { kind: 'expand', runId: 'r', number: -1 },
    { kind: 'open', runId: 'r', action: { kind: 'command', command: 'x' } },
    { kind: 'open', action: change },
  ])('takes nothing else: %o', (message) => {
    expect(fromPage(message)).toBeUndefined();
  });
});

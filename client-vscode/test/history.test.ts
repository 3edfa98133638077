import { describe, expect, it } from 'vitest';
import { allIterations, History, reportedIterations } from '../src/history';
import { makeIterations, makeSnapshot } from './snapshots';

describe('History', () => {
  it('asks once for all who want to know, and keeps what snapshots add', async () => {
    let asked = 0;
    const history = new History(() => {
      asked += 1;
      return Promise.resolve(makeIterations(1, 30));
    });
    await Promise.all([history.load('r1'), history.load('r1')]);
    history.remember(makeSnapshot({ iterations: makeIterations(12, 31) }));
    expect(asked).toBe(1);
    expect(history.of('r1').map((one) => one.number)).toEqual(makeIterations(1, 31).map((one) => one.number));
  });

  it('keeps nothing of runs that nobody asked for, and can be asked again after a failure', async () => {
    let fails = true;
    const history = new History(() =>
      fails ? Promise.reject(new Error('gone')) : Promise.resolve(makeIterations(1, 2)),
    );
    history.remember(makeSnapshot({ iterations: makeIterations(1, 5) }));
    expect(history.of('r1')).toEqual([]);
    await expect(history.load('r1')).rejects.toThrow('gone');
    fails = false;
    await history.load('r1');
    expect(history.of('r1').length).toBe(2);
  });
});

describe('allIterations', () => {
  it('has each iteration once', () => {
    const snapshot = makeSnapshot({ iterations: makeIterations(21, 40) });
    const numbers = allIterations(snapshot, makeIterations(1, 30)).map((one) => one.number);
    expect(numbers).toEqual(makeIterations(1, 40).map((one) => one.number));
  });
});

describe('reportedIterations', () => {
  it('reads them from the report', () => {
    expect(reportedIterations(JSON.stringify({ iterations: makeIterations(1, 2) })).length).toBe(2);
    expect(reportedIterations('{}')).toEqual([]);
    expect(reportedIterations('null')).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import { allPass, fromCheck, type OfferedCheck, stateOf } from '../src/checkStates';

const t = (message: string, ...values: (string | number)[]): string =>
  message.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)]));

function check(given: Partial<OfferedCheck>): OfferedCheck {
  return { command: 'pytest', why: 'tests/ has tests', suggested: true, leftOut: null, standing: null, reason: null, seconds: null, ...given };
}

describe('how a check stands now', () => {
  test.each([
    [check({ standing: 'green', seconds: 1.23 }), false, 'passes now · 1.2 s · tests/ has tests'],
    [check({ standing: 'red', reason: '1 of 204 tests failed', seconds: 1.5 }), false, 'fails now: 1 of 204 tests failed · 1.5 s'],
    [check({ standing: 'slow', reason: 'still running after 20 s', seconds: 20 }), false, 'slow: still running after 20 s'],
    [check({}), true, 'being tried… · tests/ has tests'],
    [check({ suggested: false }), true, 'tests/ has tests'],
    [check({}), false, 'tests/ has tests'],
  ])('%o', (given, trying, said) => {
    expect(stateOf(given, trying, t)).toBe(said);
  });

  test('a run of checks that all pass would show nothing', () => {
    expect(allPass([])).toBe(false);
    expect(allPass([check({ standing: 'green' })])).toBe(true);
    expect(allPass([check({ standing: 'green' }), check({})])).toBe(false);
  });

  test('what fails is likely to be what is wanted', () => {
    expect(fromCheck(check({ standing: 'red' }), t)).toBe('Make `pytest` pass');
    expect(fromCheck(check({ standing: 'green' }), t)).toBeUndefined();
  });
});

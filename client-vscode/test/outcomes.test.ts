import { describe, expect, test } from 'vitest';
import { Endings, outcome } from '../src/outcomes';
import type { Snapshot } from '../src/protocol';
import { snapshot } from './samples';

const language = {
  t: (message: string, ...values: (string | number | boolean)[]): string =>
    message.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)])),
};

function ends(status: string, more: Partial<Snapshot> = {}): boolean {
  const endings = new Endings();
  endings.note([snapshot({ status: 'running' })]);
  const after = snapshot({ status, ...more });
  endings.note([after]);
  return endings.has(after);
}

describe('which end is news', () => {
  test.each(['complete', 'capped', 'timed_out', 'over_budget', 'stalled', 'blocked', 'impossible', 'crashed'])('%s', (status) => {
    expect(ends(status)).toBe(true);
  });

  test.each(['cancelled', 'paused', 'interrupted', 'waiting'])('not %s', (status) => {
    expect(ends(status)).toBe(false);
  });

  test.each([
    ['person', 'paused by a person', false],
    ['person', 'asked for on the command line', false],
    ['run', 'the judge could not be asked: 502', true],
    ['run', 'paused by a person', true],
    ['run', '', false],
  ] as const)('paused by %s: %s', (pausedBy, reason, news) => {
    expect(ends('paused', { pausedBy, reason })).toBe(news);
  });

  test('not one that was there before the window', () => {
    const endings = new Endings();
    const run = snapshot({ status: 'capped' });
    endings.note([run]);
    expect(endings.has(run)).toBe(false);
  });
});

test('it says why the run paused', () => {
  const run = snapshot({ status: 'paused', reason: 'the judge could not be asked: 502' });
  expect(outcome(run, language)).toBe('“Ship it” is paused: the judge could not be asked: 502');
});

test('it says how the run ended', () => {
  const counts = { met: 4, unmet: 0, unverified: 0, stale: 0, waived: 1, total: 5, regressed: 0 };
  expect(outcome(snapshot({ status: 'complete', counts }), language)).toBe(
    'Complete: 4 of 5 met, 1 waived in 41 s. “Ship it” is complete, but not all of it is proven.',
  );
  const proven = { ...counts, met: 5, waived: 0 };
  expect(outcome(snapshot({ status: 'complete', counts: proven }), language)).toBe('Proven: 5 of 5 in 41 s. “Ship it” is complete.');
  const capped = snapshot({ status: 'capped', missing: 'R2: [x](command:y)' });
  expect(outcome(capped, language)).toBe('“Ship it” ended with 2 of 5 met (capped): R2: [x]\u2060(command:y)');
});

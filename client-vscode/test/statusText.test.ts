import { expect, test } from 'vitest';
import { duration, money, statusIcon, statusText } from '../src/statusText';
import type { Snapshot } from '../src/protocol';
import { interrupt, snapshot } from './samples';

const t = (message: string, ...values: (string | number)[]): string =>
  message.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)]));

function costs(usd: number | null): Snapshot['cost'] {
  return { ...snapshot().cost, usd };
}

const WAIVED = { met: 4, unmet: 0, unverified: 0, stale: 0, waived: 1, total: 5, regressed: 0 };
const STALE = { met: 1, unmet: 0, unverified: 0, stale: 1, waived: 0, total: 2, regressed: 0 };
const BROKEN = { ...STALE, stale: 0, regressed: 1 };

test.each([
  [{}, '$(loading~spin) Goal: iteration 3/10 · 2 of 5 met'],
  [{ cost: costs(0.123) }, '$(loading~spin) Goal: iteration 3/10 · 2 of 5 met · $0.12'],
  [{ cost: costs(null) }, '$(loading~spin) Goal: iteration 3/10 · 2 of 5 met'],
  [{ worker: 'human', maxIterations: null }, '$(eye) Goal · 2 of 5 met'],
  [{ worker: 'human', phase: 'checking' }, '$(loading~spin) Goal · 2 of 5 met'],
  [{ counts: WAIVED }, '$(loading~spin) Goal: iteration 3/10 · 4 of 5 met'],
  [{ status: 'complete', complete: true, phase: null, counts: WAIVED }, '$(pass) Goal: iteration 3/10 · 4 of 5 met, 1 waived'],
  [{ status: 'complete', complete: true, phase: null, elapsedSeconds: 9.4 }, '$(pass-filled) Goal: iteration 3/10 · 2 of 5 met · proven in 9 s'],
  [{ status: 'complete', phase: null, counts: STALE }, '$(history) Goal: iteration 3/10 · 1 of 2 met · 1 stale'],
  [{ status: 'complete', phase: null, counts: BROKEN }, '$(error) Goal: iteration 3/10 · 1 of 2 met · 1 regressed'],
  [{ status: null, complete: true, worker: null, iteration: 0 }, '$(pass) Goal · 2 of 5 met'],
  [{ status: null, worker: null, iteration: 0 }, '$(target) Goal · 2 of 5 met'],
  [{ status: 'capped', phase: null }, '$(warning) Goal: iteration 3/10 · 2 of 5 met'],
  [{ status: 'waiting', interrupts: [interrupt()] }, '$(bell-dot) Goal: iteration 3/10 · waiting for you · 2 of 5 met'],
] as const)('%o', (given, expected) => {
  expect(statusText(snapshot(given), t)).toBe(expected);
});

test('another run that asks is seen in the icon and said', () => {
  expect(statusText(snapshot(), t, snapshot({ runId: 'other' }))).toBe('$(bell-dot) Goal: iteration 3/10 · waiting for you · 2 of 5 met');
});

test('a status of a later server is shown without a guess', () => {
  expect(statusIcon(snapshot({ status: 'dreaming', phase: null }))).toBe('target');
});

test('no spinner where a person is waited for', () => {
  for (const status of ['waiting', 'paused', 'interrupted', 'complete', 'stalled']) {
    expect(statusIcon(snapshot({ status, phase: null }))).not.toContain('spin');
  }
});

test.each([
  [41.4, '41 s'],
  [59.6, '1 min 00 s'],
  [200, '3 min 20 s'],
  [3_725, '1 h 02 min'],
])('%d seconds', (seconds, expected) => {
  expect(duration(seconds)).toBe(expected);
});

test.each([
  [null, undefined],
  [0, '$0.00'],
  [0.1234, '$0.12'],
  [0.0042, '$0.0042'],
])('%d US dollars', (usd, expected) => {
  expect(money(usd)).toBe(expected);
});

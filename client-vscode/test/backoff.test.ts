import { expect, test } from 'vitest';
import { Backoff } from '../src/backoff';

test('waits longer after each crash, and gives up when they don’t stop', () => {
  const backoff = new Backoff();
  const delays = [0, 1, 2, 3, 4, 5].map((second) => backoff.crashed(second * 1_000));
  expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, undefined]);
});

test('crashes that are long ago don’t count', () => {
  const backoff = new Backoff();
  backoff.crashed(0);
  expect(backoff.crashed(200_000)).toBe(500);
});

test('a person who restarts it begins anew', () => {
  const backoff = new Backoff();
  backoff.crashed(0);
  backoff.reset();
  expect(backoff.crashed(1)).toBe(500);
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { within } from '../src/patience';

const never = new Promise<never>(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('what is done in time counts, and nothing is waited for any more', async () => {
  expect(await within(30_000, Promise.resolve('done'), never)).toBe('done');
  expect(vi.getTimerCount()).toBe(0);
});

test('a server that says nothing is given up', async () => {
  const given = expect(within(30_000, never, never)).rejects.toThrow('no answer within 30 s');
  vi.advanceTimersByTime(30_000);
  await given;
});

test('one that writes what is no message, or that ends, is given up at once', async () => {
  await expect(within(30_000, never, Promise.reject(new Error('garbled')))).rejects.toThrow('garbled');
  await expect(within(30_000, Promise.reject(new Error('it ended')), never)).rejects.toThrow('it ended');
  expect(vi.getTimerCount()).toBe(0);
});

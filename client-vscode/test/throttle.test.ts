import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Throttle } from '../src/throttle';

let acted = 0;
let throttle: Throttle;

beforeEach(() => {
  vi.useFakeTimers();
  acted = 0;
  throttle = new Throttle(() => {
    acted += 1;
  }, 250);
});

afterEach(() => {
  vi.useRealTimers();
});

it('acts at once, and on what comes soon after together', () => {
  throttle.want();
  expect(acted).toBe(1);
  throttle.want();
  throttle.want();
  vi.advanceTimersByTime(249);
  expect(acted).toBe(1);
  vi.advanceTimersByTime(1);
  expect(acted).toBe(2);
  vi.advanceTimersByTime(250);
  throttle.want();
  expect(acted).toBe(3);
});

it('acts on changes that never pause', () => {
  for (let at = 0; at < 100; at += 1) {
    throttle.want();
    vi.advanceTimersByTime(10);
  }
  expect(acted).toBe(5);
});

it('acts on nothing once it was disposed of', () => {
  throttle.want();
  throttle.want();
  throttle.dispose();
  vi.advanceTimersByTime(1_000);
  throttle.want();
  expect(acted).toBe(1);
  const unused = new Throttle(() => { acted += 1; }, 250);
  unused.dispose();
  unused.want();
  expect(acted).toBe(1);
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NoticePace } from '../src/noticePace';

describe('turns of notifications', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function shownAt(pace: NoticePace, times: number[]): void {
    void pace.turn().then(() => times.push(Date.now()));
  }

  it('come at once after a pause, and else in order and apart', async () => {
    vi.setSystemTime(0);
    const pace = new NoticePace(() => Date.now(), 900);
    const times: number[] = [];
    for (let each = 0; each < 4; each++) {
      shownAt(pace, times);
    }
    await vi.advanceTimersByTimeAsync(10_000);
    expect(times).toEqual([0, 900, 1800, 2700]);
    shownAt(pace, times);
    await vi.advanceTimersByTimeAsync(100);
    shownAt(pace, times);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(times.slice(4)).toEqual([10_000, 10_900]);
  });
});

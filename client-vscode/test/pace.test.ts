import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pace } from '../src/pace';

describe('Pace', () => {
  let drawn = 0;
  let pace: Pace;

  beforeEach(() => {
    vi.useFakeTimers();
    drawn = 0;
    pace = new Pace(() => {
      drawn += 1;
      pace.given();
    }, Date.now);
  });

  afterEach(() => {
    pace.dispose();
    vi.useRealTimers();
  });

  it('draws at once, then what came meanwhile when the editor came for it', () => {
    pace.want();
    pace.want();
    pace.want();
    expect(drawn).toBe(1);
    pace.taken();
    vi.advanceTimersByTime(209);
    expect(drawn).toBe(1);
    vi.advanceTimersByTime(1);
    expect(drawn).toBe(2);
  });

  it('draws a lone change at once, however soon after the one before the editor came for it', () => {
    pace.want();
    vi.advanceTimersByTime(40);
    pace.taken();
    vi.advanceTimersByTime(170);
    pace.want();
    expect(drawn).toBe(2);
  });

  it('draws a burst of ten a second five times a second', () => {
    for (let tenth = 0; tenth < 20; tenth++) {
      pace.want();
      vi.advanceTimersByTime(20);
      pace.taken();
      vi.advanceTimersByTime(80);
    }
    expect(drawn).toBeGreaterThanOrEqual(9);
    expect(drawn).toBeLessThanOrEqual(10);
  });

  it('draws nothing where nothing changed', () => {
    pace.want();
    pace.taken();
    vi.advanceTimersByTime(5_000);
    expect(drawn).toBe(1);
  });

  it('does not wait for ever for an editor that shows nothing', () => {
    pace.want();
    pace.want();
    vi.advanceTimersByTime(999);
    expect(drawn).toBe(1);
    vi.advanceTimersByTime(1);
    expect(drawn).toBe(2);
  });

  it('draws nothing after its end', () => {
    pace.want();
    pace.want();
    pace.dispose();
    vi.advanceTimersByTime(5_000);
    expect(drawn).toBe(1);
  });
});

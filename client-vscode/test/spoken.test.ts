import { expect, test } from 'vitest';
import { readAtOnce, saidOf } from '../src/timeline/spoken';

test('all that waits is read where it is little, in the order in which it happened', () => {
  const waiting = [saidOf('ran', 'runs', 'done'), saidOf('reported', 'reports', 'done'), saidOf('checked', 'checks', 'done')];
  expect(readAtOnce(waiting, 3)).toEqual(['ran', 'reported', 'checked']);
});

test('the latest are read where it is too much, but never instead of a report, a question or a failure', () => {
  const steps = ['1', '2', '3', '4'].map((name) => saidOf(name, 'runs', 'done'));
  expect(readAtOnce(steps, 3)).toEqual(['2', '3', '4']);
  expect(readAtOnce([saidOf('reported', 'reports', 'done'), ...steps], 3)).toEqual(['reported', '3', '4']);
  const more = [saidOf('asked', 'asks', 'done'), saidOf('failed', 'runs', 'failed'), saidOf('said', 'says', 'done'), ...steps];
  expect(readAtOnce(more, 2)).toEqual(['asked', 'said']);
  expect(readAtOnce(more, 3)).toEqual(['asked', 'failed', 'said']);
});

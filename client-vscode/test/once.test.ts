import { expect, test } from 'vitest';
import { Once } from '../src/once';

test('what goes wrong in the same way is told once while its words stand there, and anew to whoever tries again', () => {
  const once = new Once();
  expect([once.tells('no file'), once.tells('no file'), once.tells('no Python')]).toEqual([true, false, true]);
  once.closed('no file');
  expect(once.tells('no Python')).toBe(false);
  once.closed('no Python');
  expect(once.tells('no Python')).toBe(true);
  once.again();
  expect(once.tells('no Python')).toBe(true);
});

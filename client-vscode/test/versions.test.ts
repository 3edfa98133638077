import { expect, test } from 'vitest';
import { differenceOf } from '../src/versions';

test.each([
  ['0.1.0', '0.1.9', undefined],
  ['0.2.0', '0.1.9', 'older'],
  ['1.0.0', '0.9.0', 'older'],
  ['0.9.0', '0.10.0', 'newer'],
  ['0.1.0', '0.1.0.dev3', undefined],
  ['0.1.0', undefined, undefined],
  ['0.1.0', 'unknown', undefined],
] as const)('an extension %s with a server %s: %s', (own, server, difference) => {
  expect(differenceOf(own, server)).toBe(difference);
});

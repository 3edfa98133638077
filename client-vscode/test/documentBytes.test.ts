import { expect, test } from 'vitest';
import { asBytes } from '../src/documentBytes';

test.each(['', 'Größe: 3 µm ✓\r\n', '\uFEFFmarked'])('%o is read as it is, whatever the encoding of files', (text) => {
  const bytes = asBytes(text);
  expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  expect(new TextDecoder().decode(bytes)).toBe(text);
});

test('a text with zeros is not taken for a binary file', () => {
  expect(new TextDecoder().decode(asBytes('a\0b'))).toBe('a␀b');
});

import { describe, expect, it, test } from 'vitest';
import { asBytes, documentUri, type Shown, shownBy } from '../src/documentUris';
import { baseName } from '../src/plainText';

const documents: readonly Shown[] = [
  { kind: 'evidence', runId: 'r1', evidenceId: 'E7' },
  { kind: 'file', runId: 'r1', iteration: 3, uri: 'file:///w/src/a%20b.py' },
  { kind: 'report', runId: 'r1' },
  { kind: 'proposed', runId: 'r1', interruptId: 'I2', side: 'after' },
  { kind: 'attempt', runId: 'r1', attempts: '3f2a1c', number: 2, uri: 'file:///w/a.py', side: 'before' },
];

describe('documentUri', () => {
  it.each(documents)('names %o', (shown) => {
    const uri = documentUri(shown, 'src/a b.py');
    expect(uri).toMatchObject({ scheme: 'donewhen', path: '/r1/src/a b.py' });
    expect(shownBy(uri.query)).toEqual(shown);
  });

  it.each(['', '{', 'null', '7', '{"kind":"report"}', '{"runId":"r1"}'])('takes %s for none of ours', (query) => {
    expect(shownBy(query)).toBeUndefined();
  });
});

describe('baseName', () => {
  it('is readable, also where a uri is broken', () => {
    expect(baseName('file:///w/%C3%A4.py')).toBe('ä.py');
    expect(baseName('file:///w/100%.py')).toBe('100%.py');
  });
});

test.each(['', 'Größe: 3 µm ✓\r\n', '\uFEFFmarked'])('%o is read as it is, whatever the encoding of files', (text) => {
  const bytes = asBytes(text);
  expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  expect(new TextDecoder().decode(bytes)).toBe(text);
});

test('a text with zeros is not taken for a binary file', () => {
  expect(new TextDecoder().decode(asBytes('a\0b'))).toBe('a␀b');
});

import { describe, expect, it } from 'vitest';
import { baseName, documentUri, type Shown, shownBy } from '../src/documentUris';

const documents: readonly [Shown, string, string][] = [
  [{ kind: 'evidence', runId: 'r1', evidenceId: 'E7' }, '', '/r1/E7.md'],
  [{ kind: 'file', runId: 'r1', iteration: 3, uri: 'file:///w/src/a%20b.py' }, '', '/r1/3/a b.py'],
  [{ kind: 'report', runId: 'r1' }, '', '/r1/report.md'],
  [{ kind: 'interrupt', runId: 'r1', interruptId: 'I1' }, 'sh', '/r1/I1.sh'],
  [{ kind: 'interrupt', runId: 'r1', interruptId: 'I2' }, 'diff', '/r1/I2.diff'],
  [{ kind: 'proposed', runId: 'r1', interruptId: 'I2', side: 'after', path: 'src/a.py' }, '', '/r1/I2/after/a.py'],
];

describe('documentUri', () => {
  it.each(documents)('names %o', (shown, extension, path) => {
    const uri = documentUri(shown, extension);
    expect(uri).toMatchObject({ scheme: 'donewhen', path });
    expect(shownBy(uri.query)).toEqual(shown);
  });

  it.each(['', '{', 'null', '{"kind":"evidence","runId":"r1"}', '{"kind":"other","runId":"r1"}', '{"kind":"report"}',
    '{"kind":"proposed","runId":"r1","interruptId":"I1","side":"left","path":"a"}'])(
    'takes %s for none of ours',
    (query) => {
      expect(shownBy(query)).toBeUndefined();
    },
  );
});

describe('baseName', () => {
  it('is readable, also where a uri is broken', () => {
    expect(baseName('file:///w/%C3%A4.py')).toBe('ä.py');
    expect(baseName('file:///w/100%.py')).toBe('100%.py');
  });
});

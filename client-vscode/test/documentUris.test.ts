import { describe, expect, it, test } from 'vitest';
import { asBytes, documentUri, evidenceOfFile, type Shown, shownBy, withCommands } from '../src/documentUris';
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

const FILE = 'file:///home/me/.local/state/donewhen/ab/evidence/0a1b2c3d/E7.md';

describe('the files that hold evidence', () => {
  it('are known by run and id', () => {
    expect(evidenceOfFile(FILE)).toEqual({ runId: '0a1b2c3d', evidenceId: 'E7' });
  });

  it.each(['/w/evidence/E7.md', '/w/evidence/0a1b2c3d/E7.md/x', '/w/evidence/mine/E7.md', '/w/0a1b2c3d/E7.md', ''])(
    'are no other ones: %s',
    (path) => {
      expect(evidenceOfFile(path)).toBeUndefined();
    },
  );
});

describe('the links of a hover', () => {
  it('run the command that opens the evidence', () => {
    const [, uri, title] = /\]\((\S+) "(.*)"\)/.exec(withCommands(`[E7](${FILE}) · failed`, 'Open "it"')) ?? [];
    expect(title).toBe('Open it');
    const [command, argument] = (uri ?? '').split('?');
    expect(command).toBe('command:donewhen.openEvidence');
    expect(JSON.parse(decodeURIComponent(argument ?? ''))).toEqual([{ runId: '0a1b2c3d', evidenceId: 'E7' }]);
  });

  it('stay as they are where they lead elsewhere', () => {
    const text = '[a](file:///w/README.md) [b](https://example.org) \\[c\\](command:x)';
    expect(withCommands(text, 'Open')).toBe(text);
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

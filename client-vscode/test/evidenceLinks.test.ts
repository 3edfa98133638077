import { describe, expect, it } from 'vitest';
import { evidenceOfFile, withCommands } from '../src/evidenceLinks';

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

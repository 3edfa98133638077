import { describe, expect, test } from 'vitest';
import { askedDocument, askedNotice, changedLines, harmless, isDiff, label, oneLine, sentence, visible } from '../src/askedText';
import { withoutOpenBracket } from '../src/messageText';
import { interrupt } from './samples';

const t = (message: string, ...values: (string | number)[]): string =>
  message.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)]));
const DIFF = '--- a/x.yml\n+++ b/x.yml\n@@ -1,2 +1,2 @@\n name: ci\n-on: push\n+on: [push]\n++++ twice';

function command(text: string) {
  return interrupt({ title: `Run \`${text.split(/\s+/).join(' ')}\`?`, preview: text, input: { command: text } });
}

describe('what a notification says', () => {
  test('a command is said once', () => {
    expect(oneLine(command('git push'), 100, t)).toBe('Run this command? git push');
  });

  test('a title of somebody else stays, with what it does not say itself', () => {
    expect(oneLine(interrupt({ title: 'Deploy now?', preview: 'to prod' }), 100, t)).toBe('Deploy now? to prod');
    expect(oneLine(interrupt({ title: 'Deploy to prod?', preview: 'to prod' }), 100, t)).toBe('Deploy to prod?');
  });

  test('the ends of lines are seen', () => {
    expect(oneLine(command('echo a\n  rm b'), 100, t)).toBe('Run this command? echo a ⏎ rm b');
  });

  test('the end of a long command is seen as well, and how much is not', () => {
    const text = oneLine(command(`echo ${'x'.repeat(500)} | sh`), 100, t);
    expect(text).toMatch(/^Run this command\? echo x+ … \(410 more characters\) … x+ \| sh$/);
  });

  test('a change is said by its size: its lines are for Show', () => {
    const asked = interrupt({ title: 'Change x.yml?', tool: 'edit_file', preview: DIFF, input: { path: 'x.yml' } });
    expect(oneLine(asked, 100, t)).toBe('Change x.yml? (2 lines added, 1 removed)');
  });

  test('a start: who works and what it may take', () => {
    const preview = 'Worker: the agent\nJudge: none\nEnds after at most 10 iterations\nCosts at most $5\nAsks: git push';
    const asked = interrupt({ about: 'start', title: 'Start this run?', preview });
    const text = 'Start this run? Worker: the agent · Judge: none · Ends after at most 10 iterations · Costs at most $5';
    expect(oneLine(asked, 50, t)).toBe(text);
  });
});

test('a notification names the folder, and the reason in the words of the worker', () => {
  const asked = { ...command('git push'), folder: 'C:\\w\\shop', said: 'The [fix](command:x)\nis ready.' };
  expect(askedNotice(asked, 100, t)).toBe(
    'Run this command in shop? git push · The worker says: The [fix]\u2060(command:x) ⏎ is ready.',
  );
  expect(askedNotice({ ...asked, said: 'x'.repeat(999) }, 100, t).length).toBeLessThan(300);
});

test('an open bracket of others takes no link of ours', () => {
  expect(withoutOpenBracket('if [ -f x ] see [this')).toBe('if [ -f x ] see \uff3bthis');
  expect(withoutOpenBracket('[a] b')).toBe('[a] b');
});

describe('text of others', () => {
  test('characters that hide others are shown as such', () => {
    expect(visible('rm\u202e x\u0007')).toBe('rm\ufffd x\ufffd');
    expect(visible('a\u200bb\u00ad\u2066\ufeff\u{e0041}')).toBe('a\ufffdb\ufffd\ufffd\ufffd\ufffd');
    expect(visible('é ü 日本 🙂')).toBe('é ü 日本 🙂');
  });

  test('it makes no link of a notification and no icon of a label', () => {
    expect(harmless('see [this](command:workbench.action.quit)')).toBe('see [this]\u2060(command:workbench.action.quit)');
    expect(label('echo $(bell) $(date)')).toBe('echo \\$(bell) \\$(date)');
  });
});

describe('the document of what is asked', () => {
  test('a command and a change stand as they are', () => {
    expect(askedDocument('Goal', command('echo a\nrm b'), t)).toBe('# Run this command?\n# Goal\n\necho a\nrm b\n');
    expect(askedDocument('Goal', interrupt({ preview: DIFF }), t)).toBe(DIFF);
  });

  test('where it would run, why, and what came before stand around it', () => {
    const asked = { ...command('git push'), folder: '/w/shop', said: 'The fix\nis ready.', before: 'ran `pytest`: exit 0' };
    expect(askedDocument('Goal', asked, t).split('\n').slice(3)).toEqual([
      'git push',
      '',
      '# In /w/shop',
      '',
      '# The worker says: The fix',
      '# is ready.',
      '',
      '# Just before, it ran `pytest`: exit 0',
      '',
    ]);
    const words = askedDocument('Goal', interrupt({ title: 'Which?', preview: '', input: {}, said: 'Two fit.' }), t);
    expect(words).toBe('Which?\nGoal\n\nThe worker says: Two fit.\n');
  });

  test('words stand under their title, on lines that can be read', () => {
    const asked = interrupt({ title: 'Start this run?', preview: `Judge: none\n${'word '.repeat(30).trim()}`, input: {} });
    const lines = askedDocument('Ship it', asked, t).split('\n');
    expect(lines.slice(0, 4)).toEqual(['Start this run?', 'Ship it', '', 'Judge: none']);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.slice(4).join(' ').split(/\s+/).filter((word) => word === 'word')).toHaveLength(30);
  });

  test('a word that is longer than a line is left whole', () => {
    const long = 'x'.repeat(300);
    expect(askedDocument('', interrupt({ title: '', preview: `a ${long} b`, input: {} }), t)).toContain(long);
  });
});

test('diffs are told from words', () => {
  expect([DIFF, '--- \nwords', 'git push', ''].map(isDiff)).toEqual([true, false, false, false]);
  expect(changedLines(DIFF)).toEqual({ added: 2, removed: 1 });
});

test('what went wrong is said as a sentence, unless it begins with a name', () => {
  expect(sentence('the judge needs a model')).toBe('The judge needs a model');
  expect(sentence('max_iterations: it must be above 0')).toBe('max_iterations: it must be above 0');
  expect(sentence('/tmp/python is not a file')).toBe('/tmp/python is not a file');
});

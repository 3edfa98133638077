import { expect, test } from 'vitest';
import { harmless, label, sentence, visible, withoutOpenBracket } from '../src/plainText';

test('characters that hide others are shown as such', () => {
  expect(visible('rm\u202e x\u0007')).toBe('rm\ufffd x\ufffd');
  expect(visible('a\u200bb\u00ad\u2066\ufeff\u{e0041}')).toBe('a\ufffdb\ufffd\ufffd\ufffd\ufffd');
  expect(visible('é ü 日本 🙂')).toBe('é ü 日本 🙂');
});

test('text of others makes no link of a notification and no icon of a label', () => {
  expect(harmless('see [this](command:workbench.action.quit)')).toBe('see [this]\u2060(command:workbench.action.quit)');
  expect(label('echo $(bell) $(date)')).toBe('echo \\$(bell) \\$(date)');
});

test('an open bracket of others takes no link of ours', () => {
  expect(withoutOpenBracket('if [ -f x ] see [this')).toBe('if [ -f x ] see \uff3bthis');
  expect(withoutOpenBracket('[a] b')).toBe('[a] b');
});

test('what went wrong is said as a sentence, unless it begins with a name', () => {
  expect(sentence('the judge needs a model')).toBe('The judge needs a model');
  expect(sentence('max_iterations: it must be above 0')).toBe('max_iterations: it must be above 0');
  expect(sentence('/tmp/python is not a file')).toBe('/tmp/python is not a file');
});


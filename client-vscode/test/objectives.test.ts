import { describe, expect, test } from 'vitest';
import { branchOf, fromBranch, fromClipboard, fromSelection, fromTodo } from '../src/objectives';

describe('what is likely to be wanted', () => {
  test.each([
    ['fix/quotes-in-csv', 'Fix quotes in csv'],
    ['feature/1234-csv-export', 'Csv export'],
    ['PROJ-77-handle-newlines', 'Handle newlines'],
    ['anna/add_dark_mode', 'Add dark mode'],
    ['fix/fix-login-loop', 'Fix login loop'],
    ['main', undefined],
    ['feature/1234', undefined],
    ['release/2.4.1', undefined],
    ['wip', undefined],
  ])('the branch %s', (name, wanted) => {
    expect(fromBranch(name)).toBe(wanted);
  });

  test.each([
    ['    # TODO: quote fields with newlines', 'Quote fields with newlines'],
    ['  // FIXME(anna) - the cache is never emptied', 'The cache is never emptied'],
    ['/* TODO handle an empty file */', 'Handle an empty file'],
    ['todo_list = []', undefined],
    ['# TODO', undefined],
  ])('the line %s', (line, wanted) => {
    expect(fromTodo(line)).toBe(wanted);
  });

  test.each([
    ['# Export must handle quotes\n# and newlines', 'Export must handle quotes\nand newlines'],
    ['Fields with commas are quoted', 'Fields with commas are quoted'],
    ['def add(a, b):\n    return a - b', undefined],
    ['total', undefined],
    ['x = compute(a, b)', undefined],
  ])('the selection %s', (text, wanted) => {
    expect(fromSelection(text)).toBe(wanted);
  });

  test.each([
    ['## Export breaks on quotes\n\nSteps: open a file.', 'Export breaks on quotes\n\nSteps: open a file.'],
    ['CSV export should quote newlines', 'CSV export should quote newlines'],
    ['see you at nine', undefined],
    ['https://example.org/issues/12', undefined],
    ['sk-ant-0123456789', undefined],
    ['{"name": "some thing here", "fix": true}', undefined],
    ['const fixed = add(1, 2);\nreturn fixed;', undefined],
  ])('the clipboard %s', (text, wanted) => {
    expect(fromClipboard(text)).toBe(wanted);
  });

  test('a HEAD that names a branch', () => {
    expect(branchOf('ref: refs/heads/fix/quotes\n')).toBe('fix/quotes');
    expect(branchOf('24f0316aa\n')).toBeUndefined();
  });
});

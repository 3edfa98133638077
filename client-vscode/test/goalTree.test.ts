import { expect, test } from 'vitest';
import { goalTree, treeChanges } from '../src/goalTree';
import type { Node } from '../src/protocol';
import { node, snapshot } from './samples';

const around = { files: [] as Node[], folderName: () => undefined };
const ids = (nodes: readonly Node[]): string[] => nodes.map(({ id }) => id);

test('unfinished goals come before others, and those before goal files that nothing was done about', () => {
  const ended = snapshot({ runId: 'new', status: 'capped', goalUri: 'file:///w/b.goal.md' });
  const nodes = goalTree([ended, snapshot()], { ...around, files: [node('file/c')] });
  expect(ids(nodes)).toEqual(['goal/file:///w/GOAL.md', 'goal/file:///w/b.goal.md', 'file/c']);
});

test('the rows of requirements stand under their goal', () => {
  const shown = { id: 'a', label: 'a', status: 'met', standing: 'passed', why: '', row: '', disputable: false, node: node('r1') } as const;
  const run = snapshot({ view: { node: node('goal', { children: [node('finding')] }), requirements: [shown], iterations: node('iterations') } });
  expect(ids(goalTree([run], around)[0]?.children ?? [])).toEqual(['finding', 'r1', 'iterations']);
});

test('the folder of a goal is named where it is asked to', () => {
  const run = snapshot({ view: { node: node('g', { description: 'running' }) } });
  expect(goalTree([run], { ...around, folderName: () => 'web' })[0]).toMatchObject({ description: 'web · running', spoken: 'g, web' });
});

test('a run that was checked since keeps its iterations, and goes on where it can', () => {
  const run = snapshot({ runId: 'run', status: 'capped', view: { iterations: node('run/run/iterations') } });
  const check = snapshot({ runId: 'check', status: null });
  const [goal] = goalTree([check, run], around);
  expect(goal?.context).toBe('goal.checked.resumable');
  expect(ids(goal?.children ?? [])).toEqual(['run/run/iterations']);
  expect(goalTree([check, snapshot({ runId: 'run', status: 'complete' })], around)[0]?.context).toBe('goal.checked');
});

const before = [node('goal', { children: [node('r1'), node('r2')] })];

test.each([
  ['nothing that is drawn', [node('goal', { tooltip: 'later', children: [node('r1', { tooltip: '1' }), node('r2')] })], []],
  ['one node', [node('goal', { children: [node('r1'), node('r2', { description: 'met' })] })], ['r2']],
  ['what is under a node', [node('goal', { children: [node('r1')] })], ['goal']],
  ['the roots', [node('asked'), ...before], undefined],
])('what changed is drawn again: %s', (_, after, changed) => {
  expect(treeChanges(before, after)).toEqual(changed);
});

import { describe, expect, it } from 'vitest';
import type { TreeNode } from '../src/goalNodes';
import { goalTree, shownRuns } from '../src/goalTree';
import type { Iteration, Requirement, Snapshot } from '../src/protocol';
import {
  english,
  makeInterrupt,
  makeIteration,
  makeIterations,
  makeRequirement,
  makeSnapshot,
} from './snapshots';

const range = { start: { line: 6, character: 0 }, end: { line: 6, character: 0 } };

function tree(snapshots: readonly Snapshot[], earlier: readonly Iteration[] = []): TreeNode[] {
  return goalTree(snapshots, { language: english, folderName: () => undefined, files: [], earlier: () => earlier });
}

function all(nodes: readonly TreeNode[]): TreeNode[] {
  return nodes.flatMap((one) => [one, ...all(one.children)]);
}

/** The tree as a person reads it. */
function drawn(nodes: readonly TreeNode[], indent = ''): string[] {
  return nodes.flatMap((one) => [
    `${indent}[${one.icon?.name ?? ''}] ${one.label}${one.description === '' ? '' : ` | ${one.description}`}`,
    ...drawn(one.children, `${indent}  `),
  ]);
}

describe('goalTree', () => {
  it('shows what waits first, then the goal with its findings, requirements and iterations', () => {
    const snapshot = makeSnapshot({
      status: 'waiting',
      iteration: 3,
      counts: { met: 1, unmet: 1, unverified: 0, stale: 0, waived: 0, total: 2, regressed: 0 },
      interrupts: [makeInterrupt('I1')],
      integrity: [
        { id: 'F1', kind: 'test_skipped', uri: 'file:///w/t.py', range, message: 'skipped', accepted: false, reason: '', diff: '' },
      ],
      requirements: [
        makeRequirement(1, { status: 'met', reason: 'passed', evidenceIds: ['E3'] }),
        makeRequirement(2, { locations: [{ uri: 'file:///w/a%20b.py', range, message: 'assert 1 == 2\nmore' }] }),
      ],
      iterationsTotal: 1,
      iterations: [makeIteration(1, { changedFiles: ['src/a.py'], summary: 'quoted it' })],
      lastRevertible: 1,
    });
    expect(drawn(tree([snapshot]))).toEqual([
      '[shield] Run a command? | git push',
      '  [check] Approve',
      '  [circle-small] Deny',
      '  [comment] More…',
      '[bell-dot] 1/2 Export | waiting for you · iteration 3/10',
      '  [shield] F1 skipped | test skipped',
      '  [pass-filled] requirement 1 | met',
      '    [comment] passed | decided by a check',
      '    [output] Evidence E3',
      '  [error] requirement 2 | unmet · 2 tests failed',
      '    [comment] 2 tests failed | decided by a check',
      '    [location] a b.py:7 | assert 1 == 2',
      '  [history] Iterations | 1',
      '    [git-commit] Iteration 1 | 2 of 5 met · $0.04 · 12 s',
      '      [comment] quoted it',
      '      [diff] a.py | src',
    ]);
  });

  it('has an id for each node, and words for a screen reader', () => {
    const snapshot = makeSnapshot({
      requirements: [makeRequirement(1, { evidenceIds: ['E1', 'E2'] }), makeRequirement(2, { evidenceIds: ['E1'] })],
      iterationsTotal: 2,
      iterations: [makeIteration(1, { changedFiles: ['a', 'b/a'] }), makeIteration(2, { changedFiles: ['a'] })],
    });
    const nodes = all(tree([snapshot, makeSnapshot({ runId: 'r2', goalUri: null })]));
    expect(new Set(nodes.map((one) => one.id)).size).toBe(nodes.length);
    expect(nodes.filter((one) => one.spoken.trim() === '')).toEqual([]);
  });

  it.each([
    ['a start', makeInterrupt('I', { about: 'start', tool: null }), 'interrupt.start'],
    ['a command', makeInterrupt('I'), 'interrupt.approval'],
    ['an approval of no tool', makeInterrupt('I', { tool: null, about: 'plugin:x' }), 'interrupt.choice'],
    ['a waiver', makeInterrupt('I', { kind: 'question', tool: null, about: 'requirement:x' }), 'interrupt.question'],
    ['a question', makeInterrupt('I', { kind: 'question', tool: null, about: 'worker' }), 'interrupt.question'],
  ])('says of %s which answers it takes', (_, interrupt, context) => {
    expect(tree([makeSnapshot({ interrupts: [interrupt] })])[0]?.context).toBe(context);
  });

  it('leaves the marks of code out of what is one line', () => {
    const requirement = makeRequirement(1, { text: '`pytest -q` passes', reason: '`pytest -q`: exit code 1' });
    const node = tree([makeSnapshot({ requirements: [requirement] })])[0]?.children[0];
    expect(node).toMatchObject({ label: 'pytest -q passes', description: 'unmet · pytest -q: exit code 1' });
  });

  it('says what is doubtful of a requirement', () => {
    const node = tree([makeSnapshot({ requirements: [makeRequirement(1, { flaky: true, renewing: true })] })])[0]
      ?.children[0];
    expect(node?.description).toBe('unmet, being proven again, flaky · 2 tests failed');
    expect(node?.icon?.name).toBe('sync');
  });

  it('shows what it does now, or why it stands still, as a line of its own', () => {
    const running = makeSnapshot({ activity: 'edits a.py' });
    const ended = makeSnapshot({ status: 'capped', phase: null, activity: null, reason: '10 iterations' });
    expect(tree([running])[0]?.children[0]).toMatchObject({ label: 'edits a.py', description: 'working' });
    expect(tree([ended])[0]?.children[0]).toMatchObject({ label: '10 iterations', description: '' });
  });

  it('keeps Markdown of others from meaning anything in tooltips', () => {
    const requirement = makeRequirement(1, { text: '[x](command:evil) `a`', reason: '**b**' });
    const tooltip = tree([makeSnapshot({ requirements: [requirement] })])[0]?.children[0]?.tooltip();
    expect(tooltip).toContain('\\[x\\]\\(command\\:evil\\) a');
    expect(tooltip).toContain('\\*\\*b\\*\\*');
  });

  it('names the folder of a goal where it is asked to', () => {
    const around = { language: english, files: [], folderName: () => 'web', earlier: () => [] };
    expect(goalTree([makeSnapshot()], around)[0]?.description).toBe('web · running');
  });

  it('counts what is proven, and says what a person waived', () => {
    const counts = { met: 3, unmet: 1, unverified: 0, stale: 0, waived: 1, total: 5, regressed: 0 };
    const [goal] = tree([makeSnapshot({ counts, iteration: 2 })]);
    expect(goal?.label).toBe('3/5 Export');
    expect(goal?.description).toBe('1 waived · running · iteration 2/10');
    expect(goal?.spoken).toBe('Goal Export: running, 3 of 5 met, 1 waived, iteration 2/10');
  });

  it('lists unfinished goals, then others, then goal files that nothing was done about', () => {
    const ended = makeSnapshot({ runId: 'new', title: 'Ended', status: 'capped', goalUri: 'file:///w/b.goal.md' });
    const files = [{ uri: 'file:///w/c.goal.md', title: 'Later' }];
    const around = { language: english, files, folderName: () => undefined, earlier: () => [] };
    const nodes = goalTree([ended, makeSnapshot()], around);
    expect(nodes.map((one) => one.label)).toEqual(['0/0 Export', '0/0 Ended', 'Later']);
    expect(nodes[2]).toMatchObject({
      context: 'goal.new',
      description: 'not started',
      about: { goalUri: 'file:///w/c.goal.md' },
      click: { kind: 'goal' },
    });
  });

  it('keeps the iterations of a run that was checked since', () => {
    const run = makeSnapshot({ runId: 'run', status: 'capped', iterationsTotal: 1, iterations: [makeIteration(1)] });
    const check = makeSnapshot({ runId: 'check', status: null });
    const iterations = tree([check, run])[0]?.children.at(-1);
    expect(iterations?.children[0]?.about).toMatchObject({ runId: 'run', iteration: 1 });
  });

  it.each([
    ['capped', 'goal.checked.resumable'],
    ['crashed', 'goal.checked.resumable'],
    ['complete', 'goal.checked'],
    ['cancelled', 'goal.checked'],
  ])('offers to go on with a run that is %s where it was checked since: %s', (status, context) => {
    const run = makeSnapshot({ runId: 'run', status });
    expect(tree([makeSnapshot({ runId: 'check', status: null }), run])[0]?.context).toBe(context);
  });

  it('tells in a tooltip who says so, why, and what was observed', () => {
    const requirement = makeRequirement(1, { evidenceIds: ['E1', 'E2'] });
    const tooltip = tree([makeSnapshot({ requirements: [requirement] })])[0]?.children[0]?.tooltip();
    expect(tooltip).toBe('**unmet · R1** · decided by a check\n\nrequirement 1\n\n2 tests failed\n\nEvidence\\: E1, E2');
  });

  it('says what a proof is worth', () => {
    const told = (status: Requirement['status'], grade: Requirement['grade']): string | undefined =>
      tree([makeSnapshot({ requirements: [makeRequirement(1, { status, grade })] })])[0]?.children[0]?.tooltip().split('\n')[0];
    expect(told('met', 'own')).toBe('**met · R1** · decided by a check · proven by your own proof');
    expect(told('met', 'worker')).toContain('proven by what the worker wrote, which fails without the work');
    expect(told('unmet', 'own')).toBe('**unmet · R1** · decided by a check');
  });
});

describe('iterations', () => {
  const snapshot = makeSnapshot({ iterationsTotal: 250, iterations: makeIterations(231, 250), lastRevertible: 249 });

  function group(earlier: readonly Iteration[] = []): TreeNode | undefined {
    return tree([snapshot], earlier)[0]?.children.at(-1);
  }

  it('shows the newest first and asks for earlier ones by the hundred', () => {
    const shown = group()?.children ?? [];
    expect(shown.length).toBe(23);
    expect(shown[0]?.label).toBe('Iteration 250');
    expect(shown.slice(-3).map((one) => [one.label, one.opens, one.later])).toEqual([
      ['Iterations 201 to 230', 'collapsed', 'r1'],
      ['Iterations 101 to 200', 'collapsed', 'r1'],
      ['Iterations 1 to 100', 'collapsed', 'r1'],
    ]);
  });

  it('shows what was asked for', () => {
    const chunk = group(makeIterations(1, 250))?.children.at(-1);
    expect(chunk?.later).toBeUndefined();
    expect(chunk?.children.length).toBe(100);
    expect(chunk?.children[0]?.label).toBe('Iteration 100');
  });

  it('offers to go back to those whose files were kept', () => {
    const [last, before] = group()?.children ?? [];
    expect([last?.context, before?.context]).toEqual(['iteration', 'iteration.revertible']);
  });
});

describe('shownRuns', () => {
  it('shows one for each goal: the unfinished one, else the newest', () => {
    const check = makeSnapshot({ runId: 'check', status: null });
    const paused = makeSnapshot({ runId: 'paused', status: 'paused' });
    const ended = makeSnapshot({ runId: 'ended', status: 'complete', goalUri: 'file:///w/b.goal.md' });
    const older = makeSnapshot({ runId: 'older', status: 'capped', goalUri: 'file:///w/b.goal.md' });
    expect(shownRuns([check, paused, ended, older]).map((one) => one.runId)).toEqual(['paused', 'ended']);
  });
});

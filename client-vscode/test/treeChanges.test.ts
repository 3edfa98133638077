import { describe, expect, it } from 'vitest';
import { GoalElements } from '../src/goalElements';
import { goalTree } from '../src/goalTree';
import type { Snapshot } from '../src/protocol';
import { treeChanges } from '../src/treeChanges';
import { english, makeInterrupt, makeIteration, makeRequirement, makeSnapshot } from './snapshots';

const around = { language: english, files: [], folderName: () => undefined, earlier: () => [] };
const before = makeSnapshot({
  requirements: [makeRequirement(1), makeRequirement(2)],
  activity: 'edits a.py',
  iterationsTotal: 1,
  iterations: [makeIteration(1)],
});

function changes(after: Partial<Snapshot>): string[] | undefined {
  return treeChanges(goalTree([before], around), goalTree([{ ...before, ...after }], around));
}

describe('treeChanges', () => {
  it('finds nothing where nothing that is drawn changed', () => {
    expect(changes({ sequence: 2, elapsedSeconds: 99 })).toEqual([]);
  });

  it('finds the one requirement that changed', () => {
    const requirements = [makeRequirement(1), makeRequirement(2, { status: 'met', reason: 'passed' })];
    expect(changes({ requirements })).toEqual(['goal/file:///w/GOAL.md/requirement/r-2']);
  });

  it('finds the line that says what it does, and no more', () => {
    expect(changes({ activity: 'runs pytest' })).toEqual(['goal/file:///w/GOAL.md/activity']);
  });

  it('finds the node whose children are others', () => {
    const iterations = [makeIteration(1), makeIteration(2)];
    expect(changes({ iterations, iterationsTotal: 2 })).toEqual(['run/r1/iterations']);
    expect(changes({ requirements: [makeRequirement(1)] })).toEqual(['goal/file:///w/GOAL.md']);
  });

  it('finds everything where the roots are others', () => {
    expect(changes({ interrupts: [makeInterrupt('I1')] })).toBeUndefined();
  });
});

describe('GoalElements', () => {
  it('keeps the same object for the same node, with the fields that commands read', () => {
    const elements = new GoalElements();
    elements.replace(goalTree([before], around));
    const [goal] = elements.roots();
    const next = { ...before, runId: 'r9', status: 'paused' };
    const changed = elements.replace(goalTree([next], around));
    expect(changed?.[0]).toBe(goal);
    expect(elements.roots()[0]).toBe(goal);
    expect(goal).toMatchObject({ runId: 'r9', goalUri: 'file:///w/GOAL.md' });
    expect(goal?.node.context).toBe('goal.paused');
  });

  it('knows what is under a node, and what is above it', () => {
    const elements = new GoalElements();
    elements.replace(goalTree([before], around));
    const [goal] = elements.roots();
    const under = goal === undefined ? [] : elements.under(goal);
    expect(under.map((one) => one.requirementId)).toContain('r-2');
    expect(under.every((one) => elements.parent(one) === goal)).toBe(true);
    expect(goal === undefined ? goal : elements.parent(goal)).toBeUndefined();
  });
});

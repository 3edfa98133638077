import { expect, test } from 'vitest';
import type { Step } from '../src/protocol';
import { isHintable, readWhen, stepView } from '../src/timeline/activity';
import { fromPage } from '../src/timeline/messages';
import { timelineHeader } from '../src/timeline/model';
import { english, makeSnapshot } from './snapshots';

function makeStep(given: Partial<Step> = {}): Step {
  return {
    id: 'x7',
    order: 7,
    at: '2026-01-01T00:00:00.000Z',
    iteration: 1,
    kind: 'runs',
    title: 'run `pytest`',
    state: 'done',
    text: '',
    diff: '',
    cut: false,
    uri: null,
    added: 0,
    removed: 0,
    evidenceId: null,
    ...given,
  };
}

test('a step offers what there is to open', () => {
  expect(stepView(makeStep(), english).actions).toEqual([]);
  const edited = makeStep({ kind: 'edits', diff: '@@ -1 +1 @@\n-a\n+b', added: 1, removed: 1, cut: true, uri: 'file:///w/a.py' });
  expect(stepView(edited, english)).toMatchObject({
    lead: '',
    counts: '+1 −1',
    actions: [
      { kind: 'step', stepId: 'x7', diff: true },
      { kind: 'file', uri: 'file:///w/a.py' },
    ],
  });
  expect(stepView(makeStep({ evidenceId: 'E3' }), english).actions).toEqual([{ kind: 'evidence', evidenceId: 'E3' }]);
});

test('a hint says whether it was read', () => {
  expect(stepView(makeStep({ kind: 'hint', state: 'running' }), english).lead).toBe('your hint, not read yet');
  expect(stepView(makeStep({ kind: 'hint' }), english).lead).toBe('your hint, read');
  expect(readWhen({ when: 'nextTurn' }, english)).toBe('The worker reads your hint at the start of its next turn.');
});

test.each([
  [{ status: 'running', worker: 'agent' }, true],
  [{ status: 'waiting', worker: 'command' }, true],
  [{ status: 'interrupted', worker: 'agent' }, true],
  [{ status: 'running', worker: 'human' }, false],
  [{ status: 'complete', worker: 'agent' }, false],
  [{ status: null, worker: null }, false],
])('who can be told something: %o', (run, possible) => {
  expect(isHintable(makeSnapshot(run))).toBe(possible);
});

test('the header counts the tokens of worker and judge', () => {
  const usage = { inputTokens: 1200, outputTokens: 80, cachedTokens: 0, usd: 0.01 };
  const snapshot = makeSnapshot({ cost: { usd: 0.02, worker: usage, judge: usage } });
  expect(timelineHeader(snapshot, [], english).facts).toBe('running · iteration 0 of 10 · 0 of 0 met · $0.02 · 2,560 tokens · 41 s');
});

test.each([
  [{ kind: 'hint', runId: 'r1', text: 'mind the gap' }, { kind: 'hint', runId: 'r1', text: 'mind the gap' }],
  [{ kind: 'hint', runId: 'r1', text: 3 }, undefined],
  [{ kind: 'open', runId: 'r1', action: { kind: 'file', uri: 4 } }, undefined],
  [
    { kind: 'open', runId: 'r1', action: { kind: 'step', stepId: 's', diff: 'yes' } },
    { kind: 'open', runId: 'r1', action: { kind: 'step', stepId: 's', diff: false } },
  ],
])('the page may say %o', (said, taken) => {
  expect(fromPage(said)).toEqual(taken);
});

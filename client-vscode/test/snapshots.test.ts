import { expect, test, vi } from 'vitest';
import { actionsOf, asksElsewhere, completed, inProgress, mostRelevant, shownRuns, SnapshotStore, statusOf } from '../src/snapshots';
import { interrupt, requirement, snapshot } from './samples';

test('the newest state of a run stays, in whatever order it arrives', () => {
  const store = new SnapshotStore();
  store.take(snapshot({ sequence: 2, iteration: 2 }));
  store.take(snapshot({ sequence: 1, iteration: 1 }));
  expect(store.get('run-1')?.iteration).toBe(2);
});

test('what changes within one state is shown', () => {
  const store = new SnapshotStore();
  store.take(snapshot({ missing: 'R1' }));
  store.take(snapshot({ missing: 'R2' }));
  expect(store.get('run-1')?.missing).toBe('R2');
});

test('runs are listed newest first: those that are listed, then those that came since', () => {
  const store = new SnapshotStore();
  store.take(snapshot({ runId: 'c' }));
  store.replace([snapshot({ runId: 'b' }), snapshot({ runId: 'a' })]);
  store.take(snapshot({ runId: 'd' }));
  expect(store.all().map((one) => one.runId)).toEqual(['d', 'c', 'b', 'a']);
});

test('a run that goes on is newer than what was checked since it ended', () => {
  const store = new SnapshotStore();
  store.replace([snapshot({ runId: 'check', status: null }), snapshot({ runId: 'run', status: 'capped' })]);
  expect(store.ofGoal('file:///w/GOAL.md')?.runId).toBe('check');
  store.take(snapshot({ runId: 'run', status: 'capped', sequence: 3 }));
  expect(store.all().map((one) => one.runId)).toEqual(['run', 'check']);
});

test('a list that is older than what was sent takes nothing back', () => {
  const store = new SnapshotStore();
  store.take(snapshot({ sequence: 9, iteration: 9 }));
  store.replace([snapshot({ sequence: 8, iteration: 8 })]);
  expect(store.get('run-1')?.iteration).toBe(9);
});

test('another server takes back what only the one before said, once it has told what there is', () => {
  const store = new SnapshotStore();
  store.take(snapshot({ runId: 'gone' }));
  store.take(snapshot({ runId: 'back', sequence: 9, status: 'running' }));
  store.begin();
  expect(store.all()).toHaveLength(2);
  store.take(snapshot({ runId: 'sent' }));
  store.replace([snapshot({ runId: 'back', sequence: 8, status: 'interrupted' })]);
  expect(store.all().map((one) => [one.runId, one.status])).toEqual([
    ['sent', snapshot().status],
    ['back', 'interrupted'],
  ]);
});

test('a goal is found however the server escapes its uri', () => {
  const store = new SnapshotStore((uri) => uri.replace('/C:/', '/c%3A/'));
  store.take(snapshot({ goalUri: 'file:///C:/w/GOAL.md' }));
  expect(store.ofGoal('file:///c%3A/w/GOAL.md')?.runId).toBe('run-1');
});

test('the newest run of a goal', () => {
  const store = new SnapshotStore();
  store.replace([snapshot({ runId: 'b' }), snapshot({ runId: 'a' }), snapshot({ runId: 'x', goalUri: 'file:///w/x.goal.md' })]);
  expect(store.ofGoal('file:///w/GOAL.md')?.runId).toBe('b');
});

test('listeners are told which run changed, until they are disposed of', () => {
  const store = new SnapshotStore();
  const heard = vi.fn();
  const listening = store.onDidChange(heard);
  store.take(snapshot());
  store.replace([]);
  listening.dispose();
  store.take(snapshot());
  expect(heard.mock.calls).toEqual([['run-1'], [undefined]]);
});

const here = snapshot({ runId: 'here', goalUri: 'file:///w/one/GOAL.md', status: 'complete' });
const there = snapshot({ runId: 'there', goalUri: 'file:///w/two/GOAL.md', status: 'running' });
const asking = snapshot({ ...there, runId: 'asks', status: 'waiting', interrupts: [interrupt()], view: { asking: true } });
const ended = snapshot({ ...there, status: 'complete', view: {} });

test.each([
  ['the folder has a run: it is shown, whatever another one asks', [asking, there, here], 'file:///w/one', 'here'],
  ['in the folder, what waits for a person comes first', [there, asking], 'file:///w/two', 'asks'],
  ['the folder has none: what waits for a person', [here, there, asking], 'file:///w/other', 'asks'],
  ['then what runs elsewhere', [here, there], 'file:///w/other', 'there'],
  ['a run in the folder before one elsewhere', [snapshot({ ...here, status: 'running', view: {} }), there], 'file:///w/one', 'here'],
  ['a folder is no prefix of a name', [here, { ...here, runId: 'far', goalUri: 'file:///w/onerous/GOAL.md' }], 'file:///w/onerous', 'far'],
  ['nothing runs: the newest of the folder', [ended, here], 'file:///w/one', 'here'],
] as const)('%s', (_name, runs, folder, expected) => {
  expect(mostRelevant(runs, folder)?.runId).toBe(expected);
});

test('no folder is looked at: what waits for a person, else what runs', () => {
  expect(mostRelevant([here, there, asking])?.runId).toBe('asks');
  expect(mostRelevant([here, there])?.runId).toBe('there');
  expect(mostRelevant([])).toBeUndefined();
});

test('what another run asks is known, unless the one that is shown asks itself', () => {
  expect(asksElsewhere([there, asking, here], here)?.runId).toBe('asks');
  expect(asksElsewhere([there, asking, here], { ...asking, runId: 'mine' })).toBeUndefined();
  expect(asksElsewhere([there, here], here)).toBeUndefined();
});

test('the status bar is about the run that is shown, and says beside it that another one asks', () => {
  const shown = snapshot({ ...here, view: { status: { icon: 'pass', text: 'Goal · 2 of 2 met', elsewhere: 'Goal · waiting for you · 2 of 2 met', tooltip: '', spoken: '' } } });
  expect(statusOf(shown, [there, shown])).toEqual({ icon: 'pass', text: 'Goal · 2 of 2 met', other: undefined });
  expect(statusOf(shown, [asking, shown])).toEqual({ icon: 'bell-dot', text: 'Goal · waiting for you · 2 of 2 met', other: asking });
});

test('the goal that is looked at matters more than one that runs elsewhere', () => {
  expect(mostRelevant([there, here], 'file:///w/one', here)?.runId).toBe('here');
});

test('one run is shown for each goal: the unfinished one, else the newest', () => {
  const b = 'file:///w/b.goal.md';
  const runs = [
    snapshot({ runId: 'check', status: null }),
    snapshot({ runId: 'paused', status: 'paused' }),
    snapshot({ runId: 'ended', status: 'complete', goalUri: b }),
    snapshot({ runId: 'older', status: 'capped', goalUri: b }),
  ];
  expect(shownRuns(runs).map(({ runId }) => runId)).toEqual(['paused', 'ended']);
});

test('what a sent snapshot leaves out is as it was in the one before', () => {
  const before = { ...snapshot(), requirements: [requirement('a'), requirement('b')] };
  const sent = { ...snapshot({ sequence: 2 }), requirements: [null, requirement('b', 'met')] };
  const now = completed(sent, before);
  expect(now.sequence).toBe(2);
  expect(now.requirements.map(({ id, status }) => [id, status])).toEqual([['a', 'unmet'], ['b', 'met']]);
  expect(now.requirements[0]).toBe(before.requirements[0]);
});

test('a check since leaves what the run can go on with, and waives what it found', () => {
  const run = snapshot({ runId: 'run', status: 'capped', view: { actions: ['resume', 'checkNow', 'start', 'waive'] } });
  const check = (...actions: string[]) => snapshot({ runId: 'check', status: null, view: { actions } });
  const waiving = check('start', 'checkNow', 'waive');
  expect(actionsOf(waiving, [waiving, run])).toEqual(['resume', 'checkNow', 'start', 'waive']);
  const proven = check('start', 'checkNow');
  expect(actionsOf(proven, [proven, run])).toEqual(['resume', 'checkNow', 'start']);
  expect(actionsOf(proven, [proven])).toEqual(['start', 'checkNow']);
});

test('a run that works or waits is in progress, and keeps the server from being restarted', () => {
  const stands = ['paused', 'interrupted', 'complete', 'capped', null].map((status) => snapshot({ status }));
  expect(inProgress(stands)).toBe(false);
  expect(['running', 'waiting'].map((status) => inProgress([...stands, snapshot({ status })]))).toEqual([true, true]);
});

import { expect, test } from 'vitest';
import { possibleActions } from '../src/possibleActions';
import { interrupt, snapshot } from './samples';

const NOW = { trusted: true, server: 'running', goals: true, asksElsewhere: false } as const;

function offered(given: Parameters<typeof snapshot>[0], now: Partial<Parameters<typeof possibleActions>[1]> = {}): string[] {
  return possibleActions(snapshot(given), { ...NOW, ...now }).map((command) => command.replace('donewhen.', ''));
}

test('what is asked comes first', () => {
  expect(offered({ status: 'waiting', interrupts: [interrupt()] }).slice(0, 4)).toEqual(['answer', 'checkNow', 'pause', 'stop']);
});

test('what is asked can be answered while nobody goes on with the run', () => {
  expect(offered({ status: 'interrupted', interrupts: [interrupt()] })[0]).toBe('answer');
});

test('so it does where another run asks', () => {
  expect(offered({}, { asksElsewhere: true })[0]).toBe('answer');
});

test.each([
  ['running', ['checkNow', 'pause', 'stop']],
  ['paused', ['resume', 'checkNow', 'stop']],
  ['interrupted', ['resume', 'checkNow', 'stop']],
  ['capped', ['resume', 'checkNow', 'start']],
  ['complete', ['reviewChanges', 'commit', 'copyReceipt']],
])('a run that is %s', (status, expected) => {
  expect(offered({ status, phase: null }).slice(0, 3)).toEqual(expected);
});

test('a run that lacks what calls models is offered to have it installed', () => {
  const reason = "models need litellm, which is not installed: `pip install 'donewhen[models]'`";
  expect(offered({ status: 'crashed', phase: null, reason })[0]).toBe('installModels');
  expect(offered({ status: 'paused', phase: null, reason })[0]).toBe('installModels');
  expect(offered({ status: 'running', reason })).not.toContain('installModels');
});

test('a goal on guard is offered to be taken off it', () => {
  const commands = offered({ status: 'complete', phase: null, guard: { since: '2026-01-01T00:00:00Z', by: 'person' } });
  expect(commands).toContain('liftGuard');
  expect(commands).not.toContain('guard');
});

test('a run that was checked since can go on all the same', () => {
  const pursuit = snapshot({ status: 'capped', phase: null });
  expect(offered({ status: null, phase: null }, { pursuit }).slice(0, 3)).toEqual(['resume', 'checkNow', 'start']);
});

test('nothing that executes is offered before the workspace is trusted', () => {
  const commands = offered({ status: 'interrupted' }, { trusted: false });
  expect(commands[0]).toBe('workbench.trust.manage');
  expect(commands).not.toContain('resume');
  expect(commands).not.toContain('checkNow');
});

test('without a server, only what brings it back', () => {
  expect(possibleActions(undefined, { ...NOW, server: 'failed' })).toEqual(['donewhen.showLogs']);
});

test('without a goal one can be set', () => {
  expect(possibleActions(undefined, { ...NOW, goals: false })).toEqual(['donewhen.setGoal', 'donewhen.showLogs']);
});

import { describe, expect, test } from 'vitest';
import { choicesOf, editable } from '../src/interruptChoices';
import { interrupt } from './samples';

const same = (message: string): string => message;

describe('how an interrupt can be answered', () => {
  test.each([
    [{ about: 'start', kind: 'approval' }, 'Start', "Don't Start"],
    [{ about: 'tool:run_command', kind: 'approval' }, 'Approve', 'Deny'],
    [{ about: 'claim:blocked', kind: 'question' }, 'End the Run', 'Go On'],
    [{ about: 'findings', kind: 'question' }, 'Accept All', 'Have the Worker Undo It'],
    [{ about: 'restore', kind: 'question' }, 'Keep Them', 'Discard Them'],
    [{ about: 'worker', kind: 'question' }, 'Yes', 'No'],
  ] as const)('%o', (given, yes, no) => {
    const choices = choicesOf(interrupt(given), same);
    expect([choices.yes.label, choices.no.label]).toEqual([yes, no]);
    expect([choices.yes.answer, choices.no.answer]).toEqual([{ response: 'approve' }, { response: 'deny' }]);
  });

  test('what nothing can decide is given a check or a judge first, and waived last', () => {
    const { all, yes, no } = choicesOf(interrupt({ about: 'requirement:R2', kind: 'question' }), same);
    expect(all.map((choice) => choice.label)).toEqual(['Add Check', 'Choose Judge', 'End Without Proof', 'Waive']);
    expect([yes, no].map((choice) => choice.answer)).toEqual([{ command: 'donewhen.addCheck' }, { command: 'donewhen.chooseJudge' }]);
    expect(all.slice(2).map((choice) => choice.answer)).toEqual([{ response: 'deny' }, { response: 'approve' }]);
  });

  test('an approval is kept only where the server offers it', () => {
    expect(choicesOf(interrupt({ remembers: false }), same).further).toEqual([]);
    const kept = choicesOf(interrupt({ remembers: true }), same).further.map((choice) => choice.answer);
    expect(kept).toEqual(['run', 'workspace'].map((remember) => ({ response: 'approve', remember })));
  });

  test('a start can be accepted or refused, not edited', () => {
    const choices = choicesOf(interrupt({ about: 'start', input: { command: 'x' } }), same);
    expect([choices.edits, choices.text]).toEqual([false, false]);
  });

  test('a question of the worker is answered in words', () => {
    const { open, text } = choicesOf(interrupt({ kind: 'question', about: 'claim:question' }), same);
    expect([open, text]).toEqual([true, true]);
  });

  test.each(['claim:blocked', 'claim:impossible'])('%s is agreed to with a button, or answered in words', (about) => {
    const { open, text } = choicesOf(interrupt({ kind: 'question', about }), same);
    expect([open, text]).toEqual([false, true]);
  });

  test('with changes of the proof left, the run can be ended as well, or the worker told what to do', () => {
    const { further, open, text } = choicesOf(interrupt({ kind: 'question', about: 'findings' }), same);
    expect(further.map((choice) => choice.answer)).toEqual([{ response: 'end' }]);
    expect([open, text]).toEqual([false, true]);
  });

  test('a command can be edited', () => {
    expect(editable(interrupt({ input: { command: 'git push' } }))).toBe('command');
    expect(editable(interrupt({ input: { path: 'a.py' } }))).toBeUndefined();
  });
});

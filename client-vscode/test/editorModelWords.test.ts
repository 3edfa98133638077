import { expect, test } from 'vitest';
import { type AskedMessage, harmlessObject, idOf, inOneTurn, kindOf } from '../src/editorModelWords';

test('a name holds a vendor, and an id that may hold slashes', () => {
  expect(idOf('editor/copilot/gpt-4o')).toEqual({ vendor: 'copilot', id: 'gpt-4o' });
  expect(idOf('editor/router/openai/gpt-4o')).toEqual({ vendor: 'router', id: 'openai/gpt-4o' });
});

test('the results of the calls of one turn are one turn, and a schema is asked for last', () => {
  const calls = ['a', 'b'].map((id) => ({ id, name: 'look', arguments: '{}' }));
  const messages: AskedMessage[] = [
    { role: 'system', text: 'You work.' },
    { role: 'assistant', text: '', calls },
    { role: 'tool', text: 'one', answers: 'a' },
    { role: 'tool', text: 'two', answers: 'b' },
    { role: 'user', text: 'Go on.' },
  ];
  const turns = inOneTurn(messages, { type: 'object' });
  expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'user', 'user']);
  expect(turns[1]?.calls).toEqual(calls);
  expect(turns[2]).toMatchObject({ text: '', results: [{ id: 'a', text: 'one' }, { id: 'b', text: 'two' }] });
  expect(turns[4]?.text).toContain('{"type":"object"}');
  expect(inOneTurn(messages, null)).toHaveLength(4);
});

test('arguments are an object, whatever a model wrote', () => {
  expect(harmlessObject('{"path": "a"}')).toEqual({ path: 'a' });
  expect(harmlessObject('[1]')).toEqual({ value: [1] });
  expect(harmlessObject('{broken')).toEqual({ not_json: '{broken' });
});

test.each([
  [{ code: 'NoPermissions', message: 'denied' }, 'consent'],
  [{ code: 'Blocked', message: 'filtered' }, 'blocked'],
  [{ code: 'NotFound', message: 'no such model' }, 'gone'],
  [{ code: 'NotFound', message: 'You exceeded your quota' }, 'quota'],
  [new Error('socket hang up'), 'failed'],
  ['text', 'failed'],
])('%o is %s', (problem, kind) => {
  expect(kindOf(problem)).toBe(kind);
});

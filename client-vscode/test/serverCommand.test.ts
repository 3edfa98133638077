import { expect, test } from 'vitest';
import { commandOfPath, commandOfPython, isNamed, sameCommand, serverSettings, serverSource } from '../src/serverCommand';

test('a server path wins over an interpreter, and that over an environment of the extension', () => {
  expect(serverSource({ serverPath: '/bin/donewhen', interpreter: '/bin/python' })).toEqual({ kind: 'path', path: '/bin/donewhen' });
  expect(serverSource({ serverPath: ' ', interpreter: '/bin/python' })).toEqual({ kind: 'interpreter', interpreter: '/bin/python' });
  expect(serverSource({ serverPath: '', interpreter: '' })).toEqual({ kind: 'managed' });
});

test('Python never looks for modules in the folder that is open', () => {
  expect(commandOfPython('py', true)).toEqual({ command: 'py', args: ['-I', '-m', 'donewhen', 'serve', '--stdio'] });
  expect(commandOfPython('py', false).args[0]).toBe('-P');
});

test('commands are compared by what they say', () => {
  expect(sameCommand(commandOfPath('/a'), commandOfPath('/a'))).toBe(true);
  expect(sameCommand(commandOfPath('/a'), commandOfPath('/b'))).toBe(false);
  expect(sameCommand(undefined, commandOfPath('/b'))).toBe(false);
});

test('the server gets what is said, and the interpreters of the folders', () => {
  const configured = { interpreter: '/own/python', interpreters: {}, serverPath: '', stateDir: '/s', model: 'a/b', budget: null, protect: [], approve: 'ask' };
  expect(serverSettings(configured, {})).toEqual({ model: 'a/b', approve: 'ask' });
  const selected = { 'file:///a': '/a/python', 'file:///b': '/b/python' };
  expect(serverSettings(configured, selected)).toEqual({ model: 'a/b', approve: 'ask', interpreters: selected });
});

test('a program is a name or an absolute path: the folder that is open never decides', () => {
  expect(['donewhen', 'python3', '/opt/donewhen'].filter(isNamed)).toHaveLength(3);
  expect(['./donewhen', '.venv/bin/python', '..\\python.exe', 'bin/python'].filter(isNamed)).toEqual([]);
});

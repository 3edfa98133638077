import { expect, test } from 'vitest';
import { Backoff, commandOfPath, commandOfPython, differenceOf, isNamed, namingSetting, serverSettings, taken } from '../src/serverCommand';

test('a server path wins over an interpreter, and that over an environment of the extension', () => {
  expect(namingSetting({ serverPath: '/bin/donewhen', interpreter: '/bin/python' })).toBe('serverPath');
  expect(namingSetting({ serverPath: '', interpreter: '/bin/python' })).toBe('interpreter');
  expect(namingSetting({ serverPath: '', interpreter: '' })).toBeUndefined();
});

test('Python never looks for modules in the folder that is open', () => {
  expect(commandOfPython('py', true)).toEqual({ command: 'py', args: ['-I', '-m', 'donewhen', 'serve', '--stdio'] });
  expect(commandOfPython('py', false).args[0]).toBe('-P');
});

test.each([
  ['say the same', commandOfPath('/a'), true, 'asItRuns'],
  ['name another program', commandOfPath('/b'), true, 'restarted'],
  ['name another program while a run is in progress', commandOfPath('/b'), false, 'later'],
  ['name none that can be found', undefined, false, 'later'],
] as const)('settings that %s', (_, wanted, mayRestart, how) => {
  expect(taken(wanted, commandOfPath('/a'), mayRestart)).toBe(how);
  expect(taken(wanted, undefined, mayRestart)).toBe('asItRuns');
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

test.each([
  ['0.1.0', '0.1.9', undefined],
  ['0.2.0', '0.1.9', 'older'],
  ['1.0.0', '0.9.0', 'older'],
  ['0.9.0', '0.10.0', 'newer'],
  ['0.1.0', '0.1.0.dev3', undefined],
  ['0.1.0', undefined, undefined],
  ['0.1.0', 'unknown', undefined],
] as const)('an extension %s with a server %s: %s', (own, server, difference) => {
  expect(differenceOf(own, server)).toBe(difference);
});

test('waits longer after each crash, and gives up when they don’t stop', () => {
  const backoff = new Backoff();
  const delays = [0, 1, 2, 3, 4, 5].map((second) => backoff.crashed(second * 1_000));
  expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, undefined]);
});

test('crashes that are long ago don’t count', () => {
  const backoff = new Backoff();
  backoff.crashed(0);
  expect(backoff.crashed(200_000)).toBe(500);
});

test('a person who restarts it begins anew', () => {
  const backoff = new Backoff();
  backoff.crashed(0);
  backoff.reset();
  expect(backoff.crashed(1)).toBe(500);
});

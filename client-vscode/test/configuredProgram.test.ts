import { mkdirSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { unfitInterpreter, unfitPath } from '../src/configuredProgram';
import { onPosix, program, temporary } from './fakePrograms';

const folder = temporary('configured');

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The words alone: what they are about is known. */
const t = (message: string): string => message.replace(/^\{0\} /u, '');
const NOT_A_PYTHON = 'is configured to run Done When, but is not a Python.';
const NOT_A_FILE = 'is configured to be Done When’s server, but is not a file.';

/** Why an interpreter is unfit that answers so when it is asked. */
async function unfit(name: string, script: string): Promise<string | undefined> {
  return (await unfitInterpreter(program(folder, name, script), folder, {}, t))?.message;
}

test('a server path is an absolute path of a file, or a name for the PATH', async () => {
  const place = path.join(folder, 'place');
  mkdirSync(place, { recursive: true });
  expect(await unfitPath('./donewhen', t)).toContain('not an absolute path');
  expect(await unfitPath(path.join(folder, 'nowhere'), t)).toBe(NOT_A_FILE);
  expect(await unfitPath(place, t)).toBe(NOT_A_FILE);
  expect(await unfitPath(program(folder, 'donewhen', 'exit 0'), t)).toBeUndefined();
  expect(await unfitPath('donewhen', t)).toBeUndefined();
});

describe.runIf(onPosix)('an interpreter', () => {
  test('of the folder that is open is not even asked', async () => {
    program(folder, 'python', `: > ${folder}/asked`);
    expect((await unfitInterpreter('./python', folder, {}, t))?.message).toContain('not an absolute path');
    expect(await unfitPath(path.join(folder, 'asked'), t)).toBe(NOT_A_FILE);
  });

  test('that is none, or answers as none does', async () => {
    expect(await unfitInterpreter(path.join(folder, 'none'), folder, {}, t)).toEqual({ message: NOT_A_PYTHON });
    expect(await unfit('failing', 'exit 3')).toBe(NOT_A_PYTHON);
    expect(await unfit('talking', 'echo hello')).toBe(NOT_A_PYTHON);
  });

  test('that is too old, or has no donewhen, or fits', async () => {
    expect(await unfit('old', `echo '{"version": [3, 9], "donewhen": "0.1.0"}'`)).toBe('is Python {1}; Done When needs {2}.');
    const bare = program(folder, 'bare', `echo '{"version": [3, 12], "donewhen": null}'`);
    expect(await unfitInterpreter(bare, folder, {}, t)).toMatchObject({ lacksDoneWhen: true });
    expect(await unfit('whole', `echo '{"version": [3, 12], "donewhen": "0.1.0"}'`)).toBeUndefined();
  });
});

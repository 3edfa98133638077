import { mkdirSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { namedInterpreter, unfitPath } from '../src/configuredProgram';
import { onPosix, program, temporary } from './fakePrograms';

const folder = temporary('configured');

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What an interpreter is that answers so when it is asked. */
async function kindOf(name: string, script: string): Promise<string> {
  return (await namedInterpreter(program(folder, name, script), folder, {})).kind;
}

test('a server path is an absolute path of a file, or a name for the PATH', async () => {
  const place = path.join(folder, 'place');
  mkdirSync(place, { recursive: true });
  expect(await unfitPath('./donewhen')).toBe('not-absolute');
  expect(await unfitPath(path.join(folder, 'nowhere'))).toBe('not-a-file');
  expect(await unfitPath(place)).toBe('not-a-file');
  expect(await unfitPath(program(folder, 'donewhen', 'exit 0'))).toBeUndefined();
  expect(await unfitPath('donewhen')).toBeUndefined();
});

describe.runIf(onPosix)('an interpreter', () => {
  test('of the folder that is open is not even asked', async () => {
    program(folder, 'python', `: > ${folder}/asked`);
    expect(await namedInterpreter('./python', folder, {})).toEqual({ kind: 'not-absolute' });
    expect(await unfitPath(path.join(folder, 'asked'))).toBe('not-a-file');
  });

  test('that is none, or answers as none does', async () => {
    expect(await namedInterpreter(path.join(folder, 'none'), folder, {})).toEqual({ kind: 'not-a-python' });
    expect(await kindOf('failing', 'exit 3')).toBe('not-a-python');
    expect(await kindOf('talking', 'echo hello')).toBe('not-a-python');
  });

  test('that is too old, or has no donewhen, or fits', async () => {
    expect(await kindOf('old', `echo '{"version": [3, 9], "donewhen": "0.1.0"}'`)).toBe('too-old');
    expect(await kindOf('bare', `echo '{"version": [3, 12], "donewhen": null}'`)).toBe('without-donewhen');
    expect(await kindOf('whole', `echo '{"version": [3, 12], "donewhen": "0.1.0"}'`)).toBe('fit');
  });
});

import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { commandOfFolder, commandOfPath, commandOfPython } from '../src/serverCommand';
import { writeProgram } from '../src/terminalProgram';
import { onPosix, program, temporary } from './fakePrograms';

const folder = temporary('terminal');

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.runIf(onPosix)('donewhen of terminals is the program of the server, with the words of the person', async () => {
  const server = program(path.join(folder, "it's here"), 'python', 'for word; do echo "[$word]"; done');
  const place = path.join(folder, 'place');
  const said = async (command: Parameters<typeof writeProgram>[1]): Promise<string> => {
    await writeProgram(place, command);
    return execFileSync(path.join(place, 'donewhen'), ['init', 'two words'], { encoding: 'utf8' }).trim().replaceAll('\n', ' ');
  };
  expect(await said(commandOfFolder(server, '/b $x'))).toBe('[-I] [-S] [/b $x] [init] [two words]');
  expect(await said(commandOfPython(server, true))).toBe('[-I] [-m] [donewhen] [init] [two words]');
  expect(await said(commandOfPath(server))).toBe('[init] [two words]');
  expect(readdirSync(place)).toEqual(['donewhen']);
});

test.runIf(onPosix)('it is written only where it changes', async () => {
  const place = path.join(folder, 'same');
  await writeProgram(place, commandOfPath('/one'));
  const before = statSync(path.join(place, 'donewhen'), { bigint: true });
  await writeProgram(place, commandOfPath('/one'));
  expect(statSync(path.join(place, 'donewhen'), { bigint: true }).ino).toBe(before.ino);
});

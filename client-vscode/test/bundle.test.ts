import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Bundle, type Memory } from '../src/bundle';
import { fakePython, onPosix, temporary } from './fakePrograms';

const folder = temporary('bundle');
const whole = path.join(folder, 'bundled');
mkdirSync(whole);
writeFileSync(path.join(whole, '__main__.py'), '');

function memory(): Memory {
  const kept = new Map<string, unknown>();
  return {
    get: (key) => kept.get(key),
    update: (key, value) => {
      kept.set(key, value);
      return Promise.resolve();
    },
  };
}

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe.runIf(onPosix)('what a build brings', () => {
  test('is started as it is by the Python that is there, which sees nothing else', async () => {
    const bin = path.join(folder, 'bin');
    const python = fakePython(bin, 'python3', [3, 12]);
    expect(await new Bundle(whole, memory()).command(folder, { PATH: bin })).toEqual({
      command: python,
      args: ['-I', '-S', whole, 'serve', '--stdio'],
    });
  });

  test('is no server for a Python that can’t load it, nor without a Python', async () => {
    const bin = path.join(folder, 'other');
    const bundle = new Bundle(whole, memory());
    expect(await bundle.command(folder, { PATH: bin })).toBeUndefined();
    const python = fakePython(bin, 'python3', [3, 15]);
    expect(await bundle.command(folder, { PATH: bin, FAKE_LOADS: 'No module named pydantic_core' })).toBeUndefined();
    expect((await bundle.command(folder, { PATH: bin }))?.command).toBe(python);
    rmSync(python);
    expect(await bundle.command(folder, { PATH: bin })).toBeUndefined();
  });

  test('is started by the Python of the time before without asking any, until it or the PATH changes', async () => {
    const bin = path.join(folder, 'before');
    const kept = memory();
    const python = fakePython(bin, 'python3', [3, 12]);
    const refusing = { FAKE_LOADS: 'No module named pydantic_core' }; // Who is asked says so.
    await new Bundle(whole, kept).command(folder, { PATH: bin });
    expect((await new Bundle(whole, kept).command(folder, { PATH: bin, ...refusing }))?.command).toBe(python);
    const other = path.join(folder, 'after');
    const newer = fakePython(other, 'python3', [3, 13]);
    expect((await new Bundle(whole, kept).command(folder, { PATH: other }))?.command).toBe(newer);
    utimesSync(newer, 0, 0);
    expect(await new Bundle(whole, kept).command(folder, { PATH: other, ...refusing })).toBeUndefined();
  });

  test('is nothing in the build for every platform', async () => {
    const bin = path.join(folder, 'bin');
    expect(await new Bundle(path.join(folder, 'nothing'), memory()).command(folder, { PATH: bin })).toBeUndefined();
  });
});

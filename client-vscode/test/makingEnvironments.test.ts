import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import * as path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Contents, type Making, ManagedEnvironments, pipInstall } from '../src/managedEnvironment';
import { cleanEnvironment } from '../src/processes';
import { findPython } from '../src/pythons';
import { fakePython, onPosix, program, temporary } from './fakePrograms';

const folder = temporary('making');
const DAY_MS = 24 * 3_600_000;
let count = 0;

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A folder for programs, one for environments, and a wheel: nothing but what is put there is found. */
function place(): { bin: string; environments: ManagedEnvironments; at: string; contents: Contents } {
  const own = path.join(folder, String((count += 1)));
  const [bin, at, wheel, lock] = ['bin', 'environments', 'donewhen-1-py3-none-any.whl', 'server.txt'].map((name) => path.join(own, name)) as [string, string, string, string];
  mkdirSync(bin, { recursive: true });
  writeFileSync(wheel, `wheel ${count}`);
  writeFileSync(lock, '');
  return { bin, at, environments: new ManagedEnvironments(at), contents: { wheel, lock, extras: [] } };
}

function how(bin: string, own: NodeJS.ProcessEnv = {}): Making {
  return { env: { PATH: bin, ...own }, signal: new AbortController().signal, onLine: () => undefined };
}

describe.runIf(onPosix)('which Python', () => {
  test('none', async () => {
    const { bin, environments, contents } = place();
    expect(await environments.make(contents, how(bin))).toEqual({ kind: 'no-python', tooOld: [] });
  });

  test('only ones that are too old, or are none', async () => {
    const { bin, at, environments, contents } = place();
    fakePython(bin, 'python3', [3, 9]);
    program(bin, 'python', 'echo Python 2.7; exit 0');
    const made = await environments.make(contents, how(bin));
    expect(made).toMatchObject({ kind: 'no-python', tooOld: [{ version: [3, 9] }] });
    expect(readdirSync(at)).toEqual([]);
  });

  test('the first that is new enough', async () => {
    const { bin } = place();
    program(bin, 'python3.13', 'exit 127');
    fakePython(bin, 'python3', [3, 10]);
    fakePython(bin, 'python', [3, 14]);
    const found = await findPython(folder, { PATH: bin });
    expect(found.python).toMatchObject({ executable: path.join(bin, 'python'), version: [3, 14] });
    expect(found.tooOld.map((one) => one.version)).toEqual([[3, 10]]);
  });

  test('none of the folder that is open, and nothing that leads elsewhere', () => {
    const open = '/projects/strange';
    const entries = [`${open}/.venv/bin`, '/usr/bin', 'relative', '.', `${open}er/bin`, open];
    const environment = { PATH: entries.join(':'), PYTHONPATH: open, PIP_TARGET: open, PIP_FIND_LINKS: '/cache' };
    expect(cleanEnvironment(environment, [open])).toEqual({
      PATH: ['/usr/bin', `${open}er/bin`].join(':'),
      PIP_FIND_LINKS: '/cache',
      PIP_USER: '0',
    });
    const own = `${homedir()}/.local/bin`;
    expect(cleanEnvironment({ PATH: own }, [homedir()])['PATH']).toBe(own);
  });
});

describe.runIf(onPosix)('what goes wrong', () => {
  test('a Python without venv, pip, the disk: each is told apart', async () => {
    const { bin, at, environments, contents } = place();
    fakePython(bin, 'python3', [3, 12]);
    const venv = await environments.make(contents, how(bin, { FAKE_VENV: 'ensurepip is not available' }));
    expect(venv).toMatchObject({ kind: 'no-venv', python: { version: [3, 12] } });
    const disk = await environments.make(contents, how(bin, { FAKE_VENV: 'No space left on device' }));
    expect(disk).toEqual({ kind: 'failed', output: 'No space left on device\n' });
    const pip = await environments.make(contents, how(bin, { FAKE_PIP: 'no such package' }));
    expect(pip).toEqual({ kind: 'failed', output: 'pip says: no such package\n' });
    expect(readdirSync(at)).toEqual([]);
    writeFileSync(path.join(folder, 'file'), '');
    const nowhere = await new ManagedEnvironments(path.join(folder, 'file', 'below')).make(contents, how(bin));
    expect(nowhere).toMatchObject({ kind: 'failed', output: expect.stringContaining('ENOTDIR') as string });
  });

  test('an environment that is broken is made again in its place', async () => {
    const { bin, at, environments, contents } = place();
    fakePython(bin, 'python3', [3, 12]);
    await environments.make(contents, how(bin));
    const [name = ''] = readdirSync(at);
    for (const spoilt of [path.join('bin', 'python'), 'ready', 'nothing']) {
      rmSync(path.join(at, name, spoilt), { force: true });
      if (spoilt === 'nothing') {
        await environments.forget(contents);
      }
      expect(await environments.find(contents)).toBeUndefined();
      expect((await environments.make(contents, how(bin))).kind).toBe('ready');
      expect(existsSync((await environments.find(contents)) ?? '')).toBe(true);
      expect(readdirSync(at)).toEqual([name]);
    }
  });
});

describe.runIf(onPosix)('several windows', () => {
  test('that make it at once end up with one environment', async () => {
    const { bin, at, environments, contents } = place();
    fakePython(bin, 'python3', [3, 12]);
    const windows = Array.from({ length: 6 }, () => new ManagedEnvironments(at).make(contents, how(bin)));
    const kinds = (await Promise.all(windows)).map((made) => (made.kind === 'ready' ? made.python : made.kind));
    expect(new Set(kinds)).toEqual(new Set([await environments.find(contents)]));
    expect(readdirSync(at)).toHaveLength(1);
  });

  test('of an older version keep theirs, until it was not used for two weeks', async () => {
    const { bin, at, environments, contents } = place();
    fakePython(bin, 'python3', [3, 12]);
    const older = ['models', 'tracing'].map((extra) => ({ ...contents, extras: [extra] }));
    const used = [13 * DAY_MS, 15 * DAY_MS];
    for (const [index, each] of older.entries()) {
      await environments.make(each, how(bin));
      const [newest = ''] = readdirSync(at).filter((name) => !existsSync(path.join(at, name, 'seen')));
      writeFileSync(path.join(at, newest, 'seen'), '');
      const last = new Date(Date.now() - (used[index] ?? 0));
      utimesSync(path.join(at, newest, 'ready'), last, last);
    }
    await environments.make(contents, how(bin));
    expect(readdirSync(at)).toHaveLength(2);
    expect(await environments.find(older[0] ?? contents)).toBeDefined();
    expect(await environments.find(older[1] ?? contents)).toBeUndefined();
  });
});

test('pip installs the wheel with its extras', () => {
  expect(pipInstall('/e/python', '/x/d.whl', []).at(-1)).toBe('/x/d.whl');
  expect(pipInstall('/e/python', '/x/d.whl', ['models']).at(-1)).toBe('/x/d.whl[models]');
});

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type Making, ManagedEnvironments } from '../src/managedEnvironment';
import { cleanEnvironment } from '../src/processes';

const WHEEL = `
import sys, zipfile
path, greeting, needs, project = sys.argv[1:]
info = f"{project}-0.1.0.dist-info"
with zipfile.ZipFile(path, "w") as wheel:
    wheel.writestr(f"{project}/__init__.py", "")
    wheel.writestr(f"{project}/__main__.py", f"print({greeting!r})\\n\\n\\ndef main():\\n    pass\\n")
    wheel.writestr(f"{info}/entry_points.txt", f"[console_scripts]\\n{project} = {project}.__main__:main\\n")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {project}\\nVersion: 0.1.0\\n" + needs)
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;

const folder = mkdtempSync(path.join(tmpdir(), 'donewhen-environments-'));
const python = ['python3', 'python3.13', 'python3.12', 'python3.11'].find(isNewEnough);
const lines: string[] = [];

/** No network: what is installed has to be in the wheel, or among `links`. */
function how(own: NodeJS.ProcessEnv = {}): Making {
  const env = { ...cleanEnvironment(process.env), PIP_NO_INDEX: '1', ...own };
  return { env, signal: new AbortController().signal, onLine: (line) => lines.push(line) };
}

function isNewEnough(program: string): boolean {
  try {
    execFileSync(program, ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 11))'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function wheel(name: string, greeting: string, needs = '', project = 'donewhen'): string {
  const file = path.join(mkdtempSync(path.join(folder, name)), `${project}-0.1.0-py3-none-any.whl`);
  const script = path.join(folder, 'wheel.py');
  writeFileSync(script, WHEEL);
  execFileSync(python ?? '', [script, file, greeting, needs, project]);
  return file;
}

/** A lock of these wheels, by the hashes of their files. */
function lock(...wheels: readonly string[]): string {
  const file = path.join(mkdtempSync(path.join(folder, 'lock')), 'server.txt');
  const entries = wheels.map((one) => {
    const digest = createHash('sha256').update(readFileSync(one)).digest('hex');
    return `${path.basename(one).split('-')[0] ?? ''}==0.1.0 --hash=sha256:${digest}\n`;
  });
  writeFileSync(file, entries.join(''));
  return file;
}

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
}, 120_000);

test.skipIf(python === undefined)('an environment is made once for a wheel, and anew for another one', { timeout: 120_000 }, async () => {
  const place = path.join(folder, 'environments');
  const environments = new ManagedEnvironments(place);
  const first = { wheel: wheel('first', 'one'), lock: lock(), extras: [] };
  expect(await environments.find(first)).toBeUndefined();

  const made = await environments.make(first, how());
  const found = await environments.find(first);
  expect(made, lines.join('\n')).toEqual({ kind: 'ready', python: found });
  expect(execFileSync(found ?? '', ['-I', '-m', 'donewhen'], { encoding: 'utf8' }).trim()).toBe('one');
  const program = path.join(path.dirname(found ?? ''), process.platform === 'win32' ? 'donewhen.exe' : 'donewhen');
  expect(execFileSync(program, { encoding: 'utf8' }).trim()).toBe('one');

  const second = { ...first, wheel: wheel('second', 'two') };
  expect(await environments.find(second)).toBeUndefined();
  expect(await environments.find({ ...first, extras: ['models'] })).toBeUndefined();
  expect(await environments.find({ ...first, lock: lock(second.wheel) })).toBeUndefined();
  expect(readdirSync(place)).toHaveLength(1);
});

test.skipIf(python === undefined)('what could not be installed leaves nothing behind', { timeout: 120_000 }, async () => {
  const place = path.join(folder, 'broken');
  const environments = new ManagedEnvironments(place);
  const nowhere = wheel('nowhere', 'three', '', 'donewhennowhere');
  const contents = { wheel: wheel('broken', 'three'), lock: lock(nowhere), extras: [] };
  const made = await environments.make(contents, how());
  expect(made).toEqual({ kind: 'failed', output: expect.stringContaining('donewhennowhere') as string });
  expect(readdirSync(place)).toEqual([]);
});

test.skipIf(python === undefined)('without an index, it is installed from where PIP_FIND_LINKS points', { timeout: 120_000 }, async () => {
  const needed = wheel('links', 'needed', '', 'donewhenneeds');
  const environments = new ManagedEnvironments(path.join(folder, 'offline'));
  const contents = { wheel: wheel('offline', 'five', 'Requires-Dist: donewhenneeds\n'), lock: lock(needed), extras: [] };
  const made = await environments.make(contents, how({ PIP_FIND_LINKS: path.dirname(needed) }));
  expect(made.kind, JSON.stringify(made)).toBe('ready');
  const found = (await environments.find(contents)) ?? '';
  expect(execFileSync(found, ['-I', '-m', 'donewhenneeds'], { encoding: 'utf8' }).trim()).toBe('needed');
});

test.skipIf(python === undefined)('what was uploaded since under the same version is refused', { timeout: 120_000 }, async () => {
  const [known, hostile] = [wheel('known', 'needed', '', 'donewhenneeds'), wheel('hostile', 'hostile', '', 'donewhenneeds')];
  const environments = new ManagedEnvironments(path.join(folder, 'hostile-environments'));
  const contents = { wheel: wheel('held', 'six'), lock: lock(known), extras: [] };
  const made = await environments.make(contents, how({ PIP_FIND_LINKS: path.dirname(hostile) }));
  expect(made).toEqual({ kind: 'failed', output: expect.stringContaining('DO NOT MATCH THE HASHES') as string });
  expect(await environments.find(contents)).toBeUndefined();
});

test.skipIf(python === undefined)('a person may cancel it', { timeout: 120_000 }, async () => {
  const place = path.join(folder, 'cancelled');
  const abort = new AbortController();
  const making = new ManagedEnvironments(place).make(
    { wheel: wheel('late', 'four'), lock: lock(), extras: [] },
    {
      ...how(),
      signal: abort.signal,
      onLine: () => {
        abort.abort();
      },
    },
  );
  expect((await making).kind).not.toBe('ready');
  expect(readdirSync(place)).toEqual([]);
});

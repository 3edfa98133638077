import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import * as path from 'node:path';
import { type Ran, run } from './processes';
import { findPython, type Python } from './pythons';

/** Raised where environments are made in another way than before. */
const LAYOUT = 3;
const READY = 'ready';
const UNUSED_MS = 14 * 24 * 3_600_000;

/** What an environment holds; another wheel, lock or other extras are another environment. */
export interface Contents {
  readonly wheel: string;
  /** What is installed beside the wheel: each package with its version and the hashes of its files. */
  readonly lock: string;
  readonly extras: readonly string[];
}

/** How one is made. */
export interface Making {
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

export type Unmade =
  | { readonly kind: 'no-python'; readonly tooOld: readonly Python[] }
  | { readonly kind: 'no-venv'; readonly python: Python }
  | { readonly kind: 'failed'; readonly output: string };

type Made = { readonly kind: 'ready'; readonly python: string } | Unmade;

/**
 * The environments that the extension keeps in a folder of its own. Each is made beside its place and moved there when it
 * is complete: what has a name is whole, and a window with an older version of the extension keeps its own.
 */
export class ManagedEnvironments {
  constructor(private readonly folder: string) {}

  /** The Python of the environment; undefined where it has to be made first. */
  async find(contents: Contents): Promise<string | undefined> {
    const folder = await this.place(contents);
    if (!(await isWhole(folder))) {
      return undefined;
    }
    const now = new Date();
    await utimes(path.join(folder, READY), now, now).catch(() => undefined);
    return pythonIn(folder);
  }

  /** What the disk refuses is `failed`, as what the installer refuses is. */
  async make(contents: Contents, making: Making): Promise<Made> {
    const place = await this.place(contents);
    const folder = `${place}.${randomUUID().slice(0, 8)}`;
    try {
      await mkdir(this.folder, { recursive: true });
      const problem = await this.fill(folder, contents, making);
      if (problem !== undefined) {
        return problem;
      }
      await renameInPrograms(folder, place);
      await writeFile(path.join(folder, READY), path.basename(contents.wheel));
      await takePlace(folder, place);
      await this.forgetUnused(place).catch(() => undefined);
    } catch (problem) {
      return { kind: 'failed', output: String(problem) };
    } finally {
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    }
    return { kind: 'ready', python: pythonIn(place) };
  }

  /** From now on it is not found any more; what is made next takes its place. */
  async forget(contents: Contents): Promise<void> {
    await rm(path.join(await this.place(contents), READY), { force: true });
  }

  /** A virtual environment in which the lock's packages are installed and nothing else, and then the wheel, which comes with the extension. */
  private async fill(folder: string, { wheel, lock }: Contents, { env, signal, onLine }: Making): Promise<Unmade | undefined> {
    const start = (words: readonly string[]): Promise<Ran> => {
      const [command = '', ...args] = words;
      onLine(`> ${words.join(' ')}`);
      return run(command, args, { cwd: this.folder, env, signal, onLine });
    };
    const { python, tooOld } = await findPython(this.folder, env);
    if (python === undefined) {
      return { kind: 'no-python', tooOld };
    }
    const venv = await start([python.executable, '-m', 'venv', '--clear', folder]);
    if (venv.code !== 0) {
      return NO_VENV.test(venv.output) ? { kind: 'no-venv', python } : { kind: 'failed', output: venv.output };
    }
    // Only wheels: what building a source distribution needs would come without hashes.
    const locked = ['--require-hashes', '--only-binary', ':all:', '-r', lock];
    for (const what of [locked, ['--no-deps', wheel]]) {
      const installed = await start([...pip(pythonIn(folder)), ...what]);
      if (installed.code !== 0) {
        return { kind: 'failed', output: installed.output };
      }
    }
    return undefined;
  }

  private async place({ wheel, lock, extras }: Contents): Promise<string> {
    const digest = createHash('sha256').update(JSON.stringify([LAYOUT, path.basename(wheel), [...extras].sort()]));
    digest.update(await readFile(wheel));
    digest.update(await readFile(lock));
    return path.join(this.folder, digest.digest('hex').slice(0, 16));
  }

  private async forgetUnused(kept: string): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const folder = path.join(this.folder, name);
      const used = await stat(path.join(folder, READY)).catch(() => undefined);
      const unfinished = await stat(folder).catch(() => undefined);
      const last = (used ?? unfinished)?.mtimeMs ?? Date.now();
      if (folder !== kept && Date.now() - last > UNUSED_MS) {
        await rm(folder, { recursive: true, force: true });
      }
    }
  }
}

/** What Python says where its distributor left a part of it out. */
const NO_VENV = /ensurepip|No module named '?venv/;

function pythonIn(folder: string): string {
  return process.platform === 'win32' ? path.join(folder, 'Scripts', 'python.exe') : path.join(folder, 'bin', 'python');
}

/** How pip installs the wheel for a Python of the person's, beside what is there. pip reads `PIP_FIND_LINKS` and its like by itself. */
export function pipInstall(python: string, wheel: string, extras: readonly string[]): string[] {
  return [...pip(python), extras.length === 0 ? wheel : `${wheel}[${extras.join(',')}]`];
}

function pip(python: string): string[] {
  return [python, '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--progress-bar', 'off'];
}

/** Complete, and the Python that it was made with is still there. */
async function isWhole(place: string): Promise<boolean> {
  const parts = [path.join(place, READY), pythonIn(place)].map((part) => stat(part).catch(() => undefined));
  return (await Promise.all(parts)).every((part) => part !== undefined);
}

/**
 * pip writes the folder of an environment into its programs, as text or, on Windows, before the archive that a launcher
 * ends with.
 */
async function renameInPrograms(from: string, to: string): Promise<void> {
  const programs = path.dirname(pythonIn(from));
  const [before, after] = [from, to].map((folder) => Buffer.from(folder).toString('latin1'));
  for (const entry of await readdir(programs, { withFileTypes: true })) {
    const file = path.join(programs, entry.name);
    const content = entry.isFile() ? await readFile(file, 'latin1') : '';
    if (content.includes(before ?? '')) {
      await writeFile(file, content.replaceAll(before ?? '', after ?? ''), 'latin1');
    }
  }
}

/** Another window may have been faster: then its environment, which is the same, stays. What is broken goes. */
async function takePlace(folder: string, place: string): Promise<void> {
  try {
    await rename(folder, place);
  } catch {
    if (await isWhole(place)) {
      return;
    }
    const aside = `${folder}.broken`;
    await rename(place, aside);
    await rename(folder, place);
    await rm(aside, { recursive: true, force: true }).catch(() => undefined);
  }
}

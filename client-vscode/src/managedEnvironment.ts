import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import * as path from 'node:path';
import { type Made, type Making, makeEnvironment, pythonIn } from './installing';

/** Raised where environments are made in another way than before. */
const LAYOUT = 3;
const READY = 'ready';
const UNUSED_MS = 14 * 24 * 3_600_000;

/** What an environment holds; another wheel, lock or other extras are another environment. */
export interface Contents {
  readonly wheel: string;
  readonly lock: string;
  readonly extras: readonly string[];
}

type How = Pick<Making, 'env' | 'signal' | 'onLine'>;

type MadeEnvironment = { readonly kind: 'ready'; readonly python: string } | Exclude<Made, { kind: 'made' }>;

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
  async make(contents: Contents, how: How): Promise<MadeEnvironment> {
    const place = await this.place(contents);
    const folder = `${place}.${randomUUID().slice(0, 8)}`;
    try {
      await mkdir(this.folder, { recursive: true });
      const made = await makeEnvironment({ ...contents, ...how, folder, cwd: this.folder });
      if (made.kind !== 'made') {
        return made;
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

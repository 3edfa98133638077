import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import * as path from 'node:path';
import { run } from './processes';
import { findPython } from './pythons';
import { commandOfFolder, type ServerCommand } from './serverCommand';

/** pydantic's core is compiled for each Python and machine: who can load it can load the rest. */
const LOADS = 'import sys; sys.path.insert(0, sys.argv[1]); import pydantic_core';

/** What outlives the window; a part of `vscode.Memento`. */
export interface Memory {
  get(key: string): unknown;
  update(key: string, value: unknown): Thenable<void>;
}

const FOUND = 'bundlePython';

/** A Python that loads what `folder` holds, for as long as nothing that it was found by has changed. */
interface Found {
  readonly executable: string;
  readonly changed: number;
  readonly path: string;
  readonly folder: string;
}

/**
 * What a build for one platform brings: the server with all that it imports, but for what calls models. Whichever Python is
 * there starts it as it is, and nothing is installed. It is looked for once: asking all that a PATH names takes a second.
 */
export class Bundle {
  constructor(
    private readonly folder: string,
    private readonly memory: Memory,
  ) {}

  /** Undefined where this build brings nothing, or nothing that a Python of this machine can load. */
  async command(cwd: string, env: NodeJS.ProcessEnv): Promise<ServerCommand | undefined> {
    if (!existsSync(path.join(this.folder, '__main__.py'))) {
      return undefined;
    }
    const known = this.memory.get(FOUND) as Found | undefined;
    if (known !== undefined && same(known, await this.foundBy(known.executable, env))) {
      return commandOfFolder(known.executable, this.folder);
    }
    const { python } = await findPython(cwd, env);
    const loads = python && (await run(python.executable, ['-I', '-S', '-c', LOADS, this.folder], { cwd, env }));
    if (python === undefined || loads?.code !== 0) {
      return undefined;
    }
    await this.memory.update(FOUND, await this.foundBy(python.executable, env));
    return commandOfFolder(python.executable, this.folder);
  }

  private async foundBy(executable: string, env: NodeJS.ProcessEnv): Promise<Found | undefined> {
    const program = await stat(executable).catch(() => undefined);
    const searched = Object.entries(env).find(([name]) => /^path$/i.test(name))?.[1] ?? '';
    return program && { executable, changed: program.mtimeMs, path: searched, folder: this.folder };
  }
}

function same(one: Found, other: Found | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

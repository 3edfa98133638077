import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { run } from './processes';
import { findPython } from './pythons';
import { commandOfFolder, type ServerCommand } from './serverCommand';

/** pydantic's core is compiled for each Python and machine: who can load it can load the rest. */
const LOADS = 'import sys; sys.path.insert(0, sys.argv[1]); import pydantic_core';

/**
 * What a build for one platform brings: the server with all that it imports, but for what calls models. Whichever Python is
 * there starts it as it is, and nothing is installed.
 */
export class Bundle {
  private found: ServerCommand | undefined;

  constructor(private readonly folder: string) {}

  /** Undefined where this build brings nothing, or nothing that a Python of this machine can load. */
  async command(cwd: string, env: NodeJS.ProcessEnv): Promise<ServerCommand | undefined> {
    if (!existsSync(path.join(this.folder, '__main__.py'))) {
      return undefined;
    }
    if (this.found === undefined || !existsSync(this.found.command)) {
      const { python } = await findPython(cwd, env);
      const loads = python && (await run(python.executable, ['-I', '-S', '-c', LOADS, this.folder], { cwd, env }));
      this.found = python && loads?.code === 0 ? commandOfFolder(python.executable, this.folder) : undefined;
    }
    return this.found;
  }
}

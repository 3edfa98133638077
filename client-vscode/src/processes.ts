import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import * as path from 'node:path';

interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
}

export interface Ran {
  /** Null where it was killed, or could not be started. */
  readonly code: number | null;
  /** What it printed, on both streams; why it could not be started. */
  readonly output: string;
}

const MAX_OUTPUT = 64_000;

/** Runs a program to its end. Never rejects: what went wrong is the output. */
export function run(command: string, args: readonly string[], options: RunOptions): Promise<Ran> {
  return new Promise((resolve) => {
    const { cwd, env, signal } = options;
    const child = spawn(command, args, { cwd, env, signal, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    let output = '';
    let line = '';
    const take = (chunk: Buffer): void => {
      const text = chunk.toString();
      output = (output + text).slice(-MAX_OUTPUT);
      const lines = (line + text).split(/\r?\n/);
      line = lines.pop() ?? '';
      lines.filter((each) => each.trim() !== '').forEach((each) => options.onLine?.(each));
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', (problem) => {
      output += problem.message;
      if (child.pid === undefined) {
        resolve({ code: null, output });
      }
    });
    child.on('close', (code) => {
      resolve({ code, output });
    });
  });
}

/** What would make Python or its installers look, or install, somewhere else. */
const HIDDEN: ReadonlySet<string> = new Set([
  ...['PYTHONPATH', 'PYTHONHOME', 'PYTHONUSERBASE', 'VIRTUAL_ENV', 'CONDA_PREFIX', '__PYVENV_LAUNCHER__'],
  ...['PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT', 'PIP_PYTHON', 'PIP_REQUIREMENT'],
]);

/**
 * The environment for programs that set something up: without what would lead them elsewhere, and with no folder on the
 * PATH that is inside of `strangers`, such as the environment of a project that was active in a terminal.
 */
export function cleanEnvironment(environment: NodeJS.ProcessEnv, strangers: readonly string[] = []): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(([name]) => !HIDDEN.has(name));
  const cleaned = kept.map(([name, value]) => [name, /^path$/i.test(name) ? pathWithout(value ?? '', strangers) : value]);
  // A person's pip may install for its user by default, which no virtual environment takes.
  return { ...(Object.fromEntries(cleaned) as NodeJS.ProcessEnv), PIP_USER: '0' };
}

function pathWithout(value: string, strangers: readonly string[]): string {
  // Where the home itself is open, all that a person installed is in it.
  const closed = strangers.filter((folder) => !isInside(homedir(), folder));
  const foreign = (entry: string): boolean => !path.isAbsolute(entry) || closed.some((folder) => isInside(entry, folder));
  return value
    .split(path.delimiter)
    .filter((entry) => !foreign(entry))
    .join(path.delimiter);
}

function isInside(entry: string, folder: string): boolean {
  const relative = path.relative(folder, entry);
  return relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative));
}

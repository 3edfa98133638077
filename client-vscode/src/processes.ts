import { spawn } from 'node:child_process';

export interface RunOptions {
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

/** The environment without what would make Python or its installers look somewhere else. */
export function cleanEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const hidden = new Set(['PYTHONPATH', 'PYTHONHOME', 'VIRTUAL_ENV', 'CONDA_PREFIX', '__PYVENV_LAUNCHER__']);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !hidden.has(name)));
}

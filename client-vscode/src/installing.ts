import * as path from 'node:path';
import { type Ran, run } from './processes';
import { findPython, type Python } from './pythons';

/** What making an environment needs to know. */
export interface Making {
  /** Where it is made: a folder that is not there yet. */
  readonly folder: string;
  readonly wheel: string;
  /** What is installed beside the wheel: each package with its version and the hashes of its files. */
  readonly lock: string;
  /** A folder that nobody else writes to, to run programs in. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

export type Made =
  | { readonly kind: 'made' }
  | { readonly kind: 'no-python'; readonly tooOld: readonly Python[] }
  | { readonly kind: 'no-venv'; readonly python: Python }
  | { readonly kind: 'failed'; readonly output: string };

export function pythonIn(folder: string): string {
  return process.platform === 'win32' ? path.join(folder, 'Scripts', 'python.exe') : path.join(folder, 'bin', 'python');
}

/** Makes a virtual environment, installs what the lock holds and nothing else, and then the wheel, which comes with the extension. */
export async function makeEnvironment(making: Making): Promise<Made> {
  const { python, tooOld } = await findPython(making.cwd, making.env);
  if (python === undefined) {
    return { kind: 'no-python', tooOld };
  }
  const venv = await start(making, [python.executable, '-m', 'venv', '--clear', making.folder]);
  if (venv.code !== 0) {
    return NO_VENV.test(venv.output) ? { kind: 'no-venv', python } : { kind: 'failed', output: venv.output };
  }
  const own = pythonIn(making.folder);
  // Only wheels: what building a source distribution needs would come without hashes.
  const locked = ['--require-hashes', '--only-binary', ':all:', '-r', making.lock];
  for (const words of [[...pip(own), ...locked], [...pip(own), '--no-deps', making.wheel]]) {
    const installed = await start(making, words);
    if (installed.code !== 0) {
      return { kind: 'failed', output: installed.output };
    }
  }
  return { kind: 'made' };
}

/** What Python says where its distributor left a part of it out. */
const NO_VENV = /ensurepip|No module named '?venv/;

/** How pip installs the wheel for a Python of the person's, beside what is there. pip reads `PIP_FIND_LINKS` and its like by itself. */
export function pipInstall(python: string, wheel: string, extras: readonly string[]): string[] {
  return [...pip(python), requirement(wheel, extras)];
}

function pip(python: string): string[] {
  return [python, '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--progress-bar', 'off'];
}

function requirement(wheel: string, extras: readonly string[]): string {
  return extras.length === 0 ? wheel : `${wheel}[${extras.join(',')}]`;
}

function start(making: Making, words: readonly string[]): Promise<Ran> {
  const [command = '', ...args] = words;
  making.onLine(`> ${words.join(' ')}`);
  const { cwd, env, signal, onLine } = making;
  return run(command, args, { cwd, env, signal, onLine });
}

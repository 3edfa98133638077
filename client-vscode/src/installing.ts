import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { type Ran, run } from './processes';
import { findPython, type Python } from './pythons';

/** What making an environment needs to know. */
export interface Making {
  /** Where it is made: a folder that is not there yet. */
  readonly folder: string;
  readonly wheel: string;
  readonly extras: readonly string[];
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

/** Makes a virtual environment and installs the wheel: with uv where there is one and it can, else with pip. */
export async function makeEnvironment(making: Making): Promise<Made> {
  const { python, tooOld } = await findPython(making.cwd, making.env);
  const withUv = await makeWithUv(making, python);
  if (withUv?.kind === 'made' || (withUv !== undefined && python === undefined)) {
    return withUv;
  }
  if (python === undefined) {
    return { kind: 'no-python', tooOld };
  }
  const venv = await start(making, [python.program, ...python.args, '-m', 'venv', '--clear', making.folder]);
  if (venv.code !== 0) {
    return NO_VENV.test(venv.output) ? { kind: 'no-venv', python } : { kind: 'failed', output: venv.output };
  }
  const installed = await start(making, pipInstall(pythonIn(making.folder), making.wheel, making.extras));
  return installed.code === 0 ? { kind: 'made' } : { kind: 'failed', output: installed.output };
}

/** What Python says where its distributor left a part of it out. */
const NO_VENV = /ensurepip|No module named '?venv/;

/** How pip installs the wheel for a Python. pip reads `PIP_FIND_LINKS` and its like by itself. */
export function pipInstall(python: string, wheel: string, extras: readonly string[]): string[] {
  const options = ['--disable-pip-version-check', '--no-input', '--progress-bar', 'off'];
  return [python, '-m', 'pip', 'install', ...options, requirement(wheel, extras)];
}

/** uv reads variables of its own; where only pip's are set, they hold for it as well. */
export function uvInstall(
  python: string,
  wheel: string,
  extras: readonly string[],
  environment: NodeJS.ProcessEnv,
): string[] {
  const options = PIP_TO_UV.flatMap(([pip, uv, option]) => {
    const value = environment[pip] ?? '';
    return value === '' || (environment[uv] ?? '') !== '' ? [] : optionWith(option, value);
  });
  return ['uv', 'pip', 'install', '--python', python, ...options, requirement(wheel, extras)];
}

const PIP_TO_UV: readonly (readonly [string, string, string])[] = [
  ['PIP_FIND_LINKS', 'UV_FIND_LINKS', '--find-links'],
  ['PIP_NO_INDEX', 'UV_NO_INDEX', '--no-index'],
  ['PIP_INDEX_URL', 'UV_DEFAULT_INDEX', '--default-index'],
  ['PIP_EXTRA_INDEX_URL', 'UV_INDEX', '--index'],
];

function optionWith(option: string, value: string): string[] {
  if (option === '--no-index') {
    return /^(1|true|yes|on)$/i.test(value) ? [option] : [];
  }
  return value.split(/\s+/).flatMap((each) => [option, each]);
}

function requirement(wheel: string, extras: readonly string[]): string {
  return extras.length === 0 ? wheel : `${wheel}[${extras.join(',')}]`;
}

/** Undefined where there is no uv, or it makes no environment. */
async function makeWithUv(making: Making, python: Python | undefined): Promise<Made | undefined> {
  const version = ['--python', python === undefined ? '>=3.11' : await programOf(python, making)];
  const options = ['--no-project', '--no-python-downloads', '--relocatable', '--clear', ...version];
  const venv = await start(making, ['uv', 'venv', ...options, making.folder]);
  if (venv.code !== 0) {
    return undefined;
  }
  const own = pythonIn(making.folder);
  const installed = await start(making, uvInstall(own, making.wheel, making.extras, making.env));
  return installed.code === 0 && existsSync(own) ? { kind: 'made' } : { kind: 'failed', output: installed.output };
}

async function programOf(python: Python, { cwd, env }: Making): Promise<string> {
  const question = [...python.args, '-c', 'import sys; print(sys.executable)'];
  const { code, output } = await run(python.program, question, { cwd, env });
  return code === 0 ? output.trim() : python.program;
}

function start(making: Making, words: readonly string[]): Promise<Ran> {
  const [command = '', ...args] = words;
  making.onLine(`> ${words.join(' ')}`);
  const { cwd, env, signal, onLine } = making;
  return run(command, args, { cwd, env, signal, onLine });
}

import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { askPython, isNewEnough, LEAST } from './pythons';
import { isNamed } from './serverCommand';

type Translate = (message: string, ...values: string[]) => string;

/** Why a program that the settings name is not the server; undefined where nothing speaks against it. A name is looked for on the PATH when it is started. */
export async function unfitPath(program: string, t: Translate): Promise<string | undefined> {
  if (!isNamed(program)) {
    return t('{0} is configured to be Done When’s server, but is not an absolute path.', program);
  }
  const isFile = !isAbsolute(program) || (await stat(program).catch(() => undefined))?.isFile() === true;
  return isFile ? undefined : t('{0} is configured to be Done When’s server, but is not a file.', program);
}

/** Why an interpreter that the settings name can't run the server, and whether donewhen is all that it lacks. */
interface Unfit {
  readonly message: string;
  readonly lacksDoneWhen?: true;
}

/** It is asked in `cwd`, a folder that nobody else writes to, unless its name depends on the folder that is open. */
export async function unfitInterpreter(interpreter: string, cwd: string, env: NodeJS.ProcessEnv, t: Translate): Promise<Unfit | undefined> {
  if (!isNamed(interpreter)) {
    return { message: t('{0} is configured to run Done When, but is not an absolute path.', interpreter) };
  }
  const python = await askPython([interpreter], cwd, env);
  if (python === undefined) {
    return { message: t('{0} is configured to run Done When, but is not a Python.', interpreter) };
  }
  if (!isNewEnough(python)) {
    return { message: t('{0} is Python {1}; Done When needs {2}.', interpreter, python.version.join('.'), LEAST.join('.')) };
  }
  const message = t('{0} is configured to run Done When, but doesn’t have donewhen installed.', interpreter);
  return python.donewhen === null ? { message, lacksDoneWhen: true } : undefined;
}

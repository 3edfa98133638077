import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { askPython, isNewEnough, type Python } from './pythons';
import { isNamed } from './serverCommand';

/** Why a program that the settings name is not the server; undefined where nothing speaks against it. */
type UnfitPath = 'not-absolute' | 'not-a-file' | undefined;

/** What an interpreter that the settings name is: the server's, or why it can't be. */
type NamedInterpreter =
  | { readonly kind: 'not-absolute' | 'not-a-python' }
  | { readonly kind: 'too-old' | 'without-donewhen' | 'fit'; readonly python: Python };

/** A name is looked for on the PATH when it is started. */
export async function unfitPath(program: string): Promise<UnfitPath> {
  if (!isNamed(program)) {
    return 'not-absolute';
  }
  const isFile = !isAbsolute(program) || (await stat(program).catch(() => undefined))?.isFile() === true;
  return isFile ? undefined : 'not-a-file';
}

/** It is asked in `cwd`, a folder that nobody else writes to, unless its name depends on the folder that is open. */
export async function namedInterpreter(interpreter: string, cwd: string, env: NodeJS.ProcessEnv): Promise<NamedInterpreter> {
  if (!isNamed(interpreter)) {
    return { kind: 'not-absolute' };
  }
  const python = await askPython([interpreter], cwd, env);
  if (python === undefined) {
    return { kind: 'not-a-python' };
  }
  return { kind: !isNewEnough(python) ? 'too-old' : python.donewhen === null ? 'without-donewhen' : 'fit', python };
}

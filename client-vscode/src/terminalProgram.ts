import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import * as path from 'node:path';
import { programOf, type ServerCommand } from './serverCommand';

/** Makes `donewhen` of terminals the program that the server is. */
export async function writeProgram(folder: string, command: ServerCommand): Promise<void> {
  const windows = process.platform === 'win32';
  const file = path.join(folder, windows ? 'donewhen.cmd' : 'donewhen');
  const text = windows ? batch(programOf(command)) : script(programOf(command));
  if ((await readFile(file, 'utf8').catch(() => '')) === text) {
    return;
  }
  await mkdir(folder, { recursive: true });
  // Another window, or a terminal, may be reading it.
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, text, { mode: 0o755 });
  await rename(unfinished, file);
}

function script(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  return `#!/bin/sh\nexec ${quoted.join(' ')} "$@"\n`;
}

function batch(words: readonly string[]): string {
  const quoted = words.map((word) => `"${word.replaceAll('%', '%%')}"`);
  return `@${quoted.join(' ')} %*\r\n`;
}

import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

// Programs that answer as Python does, for what no real one can be made to do.

export const onPosix = process.platform !== 'win32';

export function temporary(name: string): string {
  return mkdtempSync(path.join(tmpdir(), `donewhen-${name}-`));
}

export function program(folder: string, name: string, script: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** A Python of that version: it makes environments, its pip does what FAKE_PIP says, and it loads nothing where FAKE_LOADS does. */
export function fakePython(folder: string, name: string, version: readonly [number, number]): string {
  return program(
    folder,
    name,
    `for last; do :; done
case "$*" in
*"-m venv"*) [ -z "$FAKE_VENV" ] || { echo "$FAKE_VENV"; exit 1; }; /bin/mkdir -p "$last/bin" && /bin/cp "$0" "$last/bin/python" ;;
*"-m pip"*) echo "pip says: $FAKE_PIP"; [ -z "$FAKE_PIP" ] ;;
*pydantic_core*) echo "$FAKE_LOADS"; [ -z "$FAKE_LOADS" ] ;;
*) echo '{"executable": "'"$0"'", "version": ${JSON.stringify(version)}, "donewhen": null}' ;;
esac`,
  );
}

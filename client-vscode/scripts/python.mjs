// Runs the Python that $PYTHON names, the repository's .venv, or python3.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const own = fileURLToPath(new URL(process.platform === 'win32' ? '../../.venv/Scripts/python.exe' : '../../.venv/bin/python', import.meta.url));

export function python(...words) {
  execFileSync(process.env.PYTHON ?? (existsSync(own) ? own : 'python3'), words, { stdio: 'inherit' });
}

// Builds the server's wheel into wheel/, with the Python that $PYTHON names, the repository's .venv, or python3.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const own = process.platform === 'win32' ? '../.venv/Scripts/python.exe' : '../.venv/bin/python';
const python = process.env.PYTHON ?? (existsSync(own) ? own : 'python3');

mkdirSync('wheel', { recursive: true });
for (const name of readdirSync('wheel').filter((each) => each.endsWith('.whl'))) {
  unlinkSync(`wheel/${name}`);
}
const options = ['--no-deps', '--disable-pip-version-check', '--quiet', '--wheel-dir', 'wheel'];
execFileSync(python, ['-m', 'pip', 'wheel', ...options, '..'], { stdio: 'inherit' });
console.log(`wheel/${readdirSync('wheel').join(', ')}`);

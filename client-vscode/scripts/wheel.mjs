// Builds the server's wheel into wheel/.
import { mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { python } from './python.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
mkdirSync('wheel', { recursive: true });
for (const name of readdirSync('wheel').filter((each) => each.endsWith('.whl'))) {
  unlinkSync(`wheel/${name}`);
}
python('-m', 'pip', 'wheel', '--no-deps', '--disable-pip-version-check', '--quiet', '--wheel-dir', 'wheel', '..');
console.log(`wheel/${readdirSync('wheel').join(', ')}`);

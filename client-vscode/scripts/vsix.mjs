// Packs donewhen-VERSION.vsix: bundle, licences of what is bundled, and the wheel where `npm run wheel` made one.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const node = (script, ...args) => execFileSync(process.execPath, [script, ...args], { stdio: 'inherit' });

node('scripts/bundle.mjs');
node('scripts/third_party.mjs');
copyFileSync('../LICENSE', 'LICENSE');
// package.json names no repository.
const options = ['--no-dependencies', '--allow-missing-repository', '--out', `donewhen-${version}.vsix`];
node('node_modules/@vscode/vsce/vsce', 'package', ...options);

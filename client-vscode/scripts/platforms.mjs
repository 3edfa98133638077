// Packages the extension for each platform, or for those that are named: `npm run package:platforms -- linux-x64`.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { python } from './python.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const named = process.argv.slice(2);
const targets = named.length > 0 ? named : ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'];
try {
  for (const target of targets) {
    const env = { ...process.env, DONEWHEN_TARGET: target };
    execFileSync(process.execPath, ['node_modules/@vscode/vsce/vsce', 'package', '--target', target], { env, stdio: 'inherit' });
  }
} finally {
  python('scripts/bundled.py');
}

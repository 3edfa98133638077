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
    // What is ours is searched for secrets when the build for every platform is packed; the packages of others are public.
    const words = ['package', '--target', target, '--allow-package-all-secrets'];
    execFileSync(process.execPath, ['node_modules/@vscode/vsce/vsce', ...words], { env, stdio: 'inherit' });
  }
} finally {
  python('scripts/bundled.py');
}

// What `vsce package` needs before it packs: the bundle, the licences of what is bundled, the server's wheel.
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
for (const script of ['bundle', 'third_party', 'wheel']) {
  execFileSync(process.execPath, [`scripts/${script}.mjs`], { stdio: 'inherit' });
}
copyFileSync('../LICENSE', 'LICENSE');

// What `vsce package` needs before it packs: the bundle, the licences of what is bundled, the server's wheel; and for the
// platform that $DONEWHEN_TARGET names, the server with all that it imports.
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { python } from './python.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
for (const script of ['bundle', 'third_party', 'wheel']) {
  execFileSync(process.execPath, [`scripts/${script}.mjs`], { stdio: 'inherit' });
}
// Without a target it empties the folder: what an earlier build left there would be packed.
python('scripts/bundled.py', ...(process.env.DONEWHEN_TARGET ? [process.env.DONEWHEN_TARGET] : []));
copyFileSync('../LICENSE', 'LICENSE');

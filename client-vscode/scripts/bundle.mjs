// Bundles the extension to dist/: one CommonJS file for the extension host, one script for the timeline's page.
import { rmSync, writeFileSync } from 'node:fs';
import esbuild from 'esbuild';

const watch = process.argv.includes('--watch');
const common = { bundle: true, minify: !watch, sourcemap: watch, legalComments: 'none', logLevel: 'warning', metafile: true };
const page = { ...common, platform: 'browser', format: 'iife', target: 'es2022' };
const builds = [
  {
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    external: ['vscode'],
  },
  { ...page, entryPoints: ['src/timeline/page.ts'], outfile: 'dist/timeline/page.js' },
  { ...page, entryPoints: ['src/timeline/page.css'], outfile: 'dist/timeline/page.css' },
];
// What an earlier build left there would be packed.
rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
const inputs = {};
for (const options of builds) {
  if (watch) {
    await (await esbuild.context(options)).watch();
  } else {
    Object.assign(inputs, (await esbuild.build(options)).metafile.inputs);
  }
}
if (!watch) {
  // Whose licences third_party.mjs writes down.
  writeFileSync('dist/meta.json', JSON.stringify({ inputs }));
}

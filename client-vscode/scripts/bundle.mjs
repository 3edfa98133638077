// Bundles the extension to dist/: one CommonJS file for the extension host, one script for the timeline's page.
import { existsSync, writeFileSync } from 'node:fs';
import esbuild from 'esbuild';

const watch = process.argv.includes('--watch');
const common = { bundle: true, minify: !watch, sourcemap: watch, legalComments: 'none', logLevel: 'warning' };
const builds = [
  {
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    external: ['vscode'],
    metafile: true,
  },
];
if (existsSync('src/timeline/page.ts')) {
  const page = { ...common, platform: 'browser', format: 'iife', target: 'es2022' };
  builds.push({ ...page, entryPoints: ['src/timeline/page.ts'], outfile: 'dist/timeline/page.js' });
  builds.push({ ...page, entryPoints: ['src/timeline/page.css'], outfile: 'dist/timeline/page.css' });
}
for (const options of builds) {
  if (watch) {
    await (await esbuild.context(options)).watch();
  } else {
    const { metafile } = await esbuild.build(options);
    if (metafile !== undefined) {
      writeFileSync('dist/meta.json', JSON.stringify(metafile));
    }
  }
}

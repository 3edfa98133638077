// Writes THIRD_PARTY.txt: the licence of each package of which something is in dist/.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const { inputs } = JSON.parse(readFileSync('dist/meta.json', 'utf8'));
const folders = new Set(
  Object.keys(inputs)
    .map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter((folder) => folder !== undefined),
);
const entries = [...folders].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e(\.|$)/i.test(each));
  if (file === undefined || !existsSync(`${folder}/${file}`)) {
    throw new Error(`${folder} has no licence file`);
  }
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`;
});
const head = 'This extension contains code of these packages.\n';
writeFileSync('THIRD_PARTY.txt', [head, ...entries].join(`\n${'-'.repeat(80)}\n\n`));

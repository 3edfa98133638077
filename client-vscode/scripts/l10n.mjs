// Writes l10n/bundle.l10n.json, what translators start from: every text that the sources translate. `--check` only says
// whether it is fresh. The texts are literals in `t(...)`, wherever the function comes from.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const CALL = /\bt\(\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g;

const sources = readdirSync('src', { recursive: true }).filter((name) => name.endsWith('.ts'));
const texts = sources
  .flatMap((name) => [...readFileSync(`src/${name}`, 'utf8').matchAll(CALL)])
  // A literal of TypeScript in double quotes is one of JSON; one in single quotes becomes one.
  .map(([, literal]) => JSON.parse(literal.startsWith('"') ? literal : asJson(literal)));

function asJson(literal) {
  const inner = literal.slice(1, -1).replaceAll("\\'", "'").replaceAll('"', '\\"');
  return `"${inner}"`;
}

const bundle = Object.fromEntries([...new Set(texts)].sort().map((text) => [text, text]));
const text = `${JSON.stringify(bundle, undefined, 2)}\n`;
const target = 'l10n/bundle.l10n.json';
if (!process.argv.includes('--check')) {
  writeFileSync(target, text);
} else if (readFileSync(target, 'utf8') !== text) {
  console.error(`${target} is not fresh: npm run l10n`);
  process.exitCode = 1;
}

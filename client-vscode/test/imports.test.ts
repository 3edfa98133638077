import { existsSync, readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

/** The modules that a module imports, those that it imports only types of or only later included. */
function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'), true, true);
  const own = importedFiles.map(({ fileName }) => path.join(path.dirname(file), `${fileName}.ts`));
  return own.filter((name) => existsSync(name));
}

/** A way along the imports from a module back to it. */
function circle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const from = (module: string, way: readonly string[]): string[] | undefined => {
    const at = way.indexOf(module);
    if (at >= 0) {
      return [...way.slice(at), module];
    }
    if (done.has(module)) {
      return undefined;
    }
    for (const next of graph.get(module) ?? []) {
      const found = from(next, [...way, module]);
      if (found !== undefined) {
        return found;
      }
    }
    done.add(module);
    return undefined;
  };
  return [...graph.keys()].map((module) => from(module, [])).find((found) => found !== undefined);
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const graph = new Map(files.map((name) => [path.join('src', name), importsOf(path.join('src', name))]));

test('no modules import each other in a circle, not even for a type', () => {
  expect(circle(graph)).toBeUndefined();
});

test('what features share knows none of them', () => {
  expect(graph.get(path.join('src', 'services.ts'))).toEqual([path.join('src', 'protocol.ts')]);
});

test('a circle is found wherever it begins', () => {
  const found = circle(new Map([['a', ['b']], ['b', ['c', 'd']], ['c', []], ['d', ['b']]]));
  expect(found).toEqual(['b', 'd', 'b']);
});

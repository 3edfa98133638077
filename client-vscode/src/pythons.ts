import { run } from './processes';

/** A Python: its program, and what it says about itself. */
export interface Python {
  /** Its own absolute path, whichever name or launcher it was found by. */
  readonly executable: string;
  readonly version: readonly [number, number];
  /** The version of donewhen that it can import; null where it can't. */
  readonly donewhen: string | null;
}

export const LEAST: readonly [number, number] = [3, 11];

const NAMES: readonly (readonly string[])[] = [
  ...['3.14', '3.13', '3.12', '3.11'].map((version) => [`python${version}`]),
  ['python3'],
  ['python'],
];
const ON_WINDOWS: readonly (readonly string[])[] = [['py', '-3'], ['python'], ['python3']];

const QUESTION = `
import importlib.metadata, json, sys
try:
    donewhen = importlib.metadata.version("donewhen")
except importlib.metadata.PackageNotFoundError:
    donewhen = None
print(json.dumps({"executable": sys.executable, "version": list(sys.version_info[:2]), "donewhen": donewhen}))
`;

/**
 * What a Python says about itself; undefined where there is none. It looks for modules in `cwd` too, so that has to be a
 * folder that nobody else writes to.
 */
export async function askPython(
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Python | undefined> {
  const [program = '', ...args] = words;
  const { code, output } = await run(program, [...args, '-c', QUESTION], { cwd, env });
  if (code !== 0) {
    return undefined;
  }
  try {
    return JSON.parse(output.trim().split('\n').at(-1) ?? '') as Python;
  } catch {
    return undefined;
  }
}

export function isNewEnough(python: Python): boolean {
  const [major, minor] = python.version;
  return major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]);
}

/** The first Python on the PATH that is new enough, and the others that were found. */
export async function findPython(
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ python: Python | undefined; tooOld: readonly Python[] }> {
  const tooOld: Python[] = [];
  // All at once: where versions are managed, a name may take long to say that there is no such Python.
  const asked = (process.platform === 'win32' ? ON_WINDOWS : NAMES).map((words) => askPython(words, cwd, env));
  for (const answer of asked) {
    const python = await answer;
    if (python !== undefined && isNewEnough(python)) {
      return { python, tooOld };
    }
    if (python !== undefined) {
      tooOld.push(python);
    }
  }
  return { python: undefined, tooOld };
}

/** A goal that something which is wrong already says: only what proves it otherwise, and who works on it, is asked. */
export interface KnownGoal {
  readonly objective: string;
  /** What is to be true that no command decides. */
  readonly requirements: readonly string[];
  /** The commands that decide it. */
  readonly checks: readonly string[];
}

type Translate = (message: string, ...values: string[]) => string;

/** The longest line of a message that makes a title. */
const LONGEST = 120;

/** Of an error in the Problems panel, which decides when it is done; `file` is relative to its folder. */
export function ofProblem(file: string, message: string, t: Translate): KnownGoal {
  return {
    objective: t('Fix in {0}: {1}', file, firstLine(message)),
    requirements: [`No errors in Problems for ${codeSpan(literally(file))}`],
    checks: [],
  };
}

/** Of a test in the Testing view: `id` and `file` are what its extension says of it, `message` why it failed. */
export function ofTest(name: string, id: string, file: string | undefined, message: string, t: Translate): KnownGoal {
  const check = file === undefined ? undefined : commandOf(id, file);
  const why = firstLine(message);
  return {
    objective: why === '' ? t('Make {0} pass', name) : t('Make {0} pass: {1}', name, why),
    requirements: [],
    checks: check === undefined ? [] : [check],
  };
}

/** The command that runs one test alone, where its id says how; else the project's own checks decide. */
function commandOf(id: string, file: string): string | undefined {
  // What pytest calls it: the file, then classes and the test itself. The Python extension keeps that in its ids.
  const start = id.lastIndexOf(`${file.slice(file.lastIndexOf('/') + 1)}::`);
  if (!file.endsWith('.py') || start < 0) {
    return undefined;
  }
  const parts = id.slice(id.indexOf('::', start));
  return `python -m pytest -q ${quoted(`${file}${parts}`)}`;
}

function quoted(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The glob that means this file and no other. */
function literally(file: string): string {
  return file.replace(/[*?[]/g, '[$&]');
}

function codeSpan(text: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`;
}

function firstLine(message: string): string {
  const [line = ''] = message.trim().split(/\r?\n/, 1);
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

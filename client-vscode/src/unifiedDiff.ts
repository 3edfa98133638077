const HUNK = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/;

/** The text with a unified diff applied to it; undefined where the diff is not about this text, or was cut. */
export function patched(text: string, diff: string): string | undefined {
  const before = linesOf(text);
  const after: string[] = [];
  let taken = 0;
  const lines = diff.split('\n');
  for (let at = lines.findIndex((line) => HUNK.test(line)); at >= 0 && at < lines.length; ) {
    const hunk = HUNK.exec(lines[at] ?? '');
    if (hunk === null) {
      return undefined;
    }
    const count = Number(hunk[2] ?? 1);
    const start = Number(hunk[1]) - (count === 0 ? 0 : 1);
    const next = nextHunk(lines, at + 1);
    const applied = apply(before.slice(start, start + count), lines.slice(at + 1, next));
    if (applied === undefined || start < taken) {
      return undefined;
    }
    after.push(...before.slice(taken, start), ...applied);
    taken = start + count;
    at = next;
  }
  after.push(...before.slice(taken));
  return after.length === 0 ? '' : `${after.join('\n')}\n`;
}

function nextHunk(lines: readonly string[], from: number): number {
  const found = lines.findIndex((line, index) => index >= from && HUNK.test(line));
  return found < 0 ? lines.length : found;
}

/** The lines that a hunk leaves; undefined where those before are others than it says. */
function apply(before: readonly string[], hunk: readonly string[]): string[] | undefined {
  const after: string[] = [];
  let at = 0;
  for (const line of hunk) {
    const [sign, rest] = [line.slice(0, 1), line.slice(1)];
    if (sign !== '+' && before[at++] !== rest) {
      return undefined;
    }
    if (sign === '+' || sign === ' ') {
      after.push(rest);
    } else if (sign !== '-') {
      return undefined;
    }
  }
  return at === before.length ? after : undefined;
}

function linesOf(text: string): string[] {
  const body = text.replace(/\r\n?/g, '\n').replace(/\n$/, '');
  return text === '' ? [] : body.split('\n');
}

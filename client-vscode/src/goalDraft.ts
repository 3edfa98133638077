/** The fence of a code span that holds the text: one backtick more than any run in it. */
function codeSpan(command: string): string {
  const longest = Math.max(0, ...(command.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  const space = command.startsWith('`') || command.endsWith('`') ? ' ' : '';
  return `${fence}${space}${command}${space}${fence}`;
}

function checkLine(command: string): string {
  return `- [ ] ${codeSpan(command)} passes`;
}

/** The drafted goal with the checks that a person picked of those that were offered, and no others of them. */
export function withChecks(draft: string, offered: readonly string[], picked: readonly string[]): string {
  const dropped = new Set(offered.filter((command) => !picked.includes(command)).map(checkLine));
  const lines = draft.split('\n').filter((line) => !dropped.has(line));
  const missing = picked.map(checkLine).filter((line) => !lines.includes(line));
  if (missing.length === 0) {
    return lines.join('\n');
  }
  const last = lines.findLastIndex((line) => line.startsWith('- ['));
  lines.splice(last < 0 ? lines.length : last + 1, 0, ...missing);
  return lines.join('\n');
}

/** The drafted goal with its worker, in front matter of its own. */
export function withWorker(draft: string, worker: string): string {
  return draft.startsWith('---\n') ? draft.replace('---\n', `---\nworker: ${worker}\n`) : `---\nworker: ${worker}\n---\n${draft}`;
}

/** What is likely to be wanted, as a person would say it. */

const LONGEST = 200;
const MOST_TEXT = 8_000;
const COMMON = new Set(['main', 'master', 'develop', 'development', 'dev', 'trunk', 'staging', 'production', 'release', 'head']);
const KINDS = /^(?:feat|feature|features|fix|bugfix|hotfix|bug|chore|task|issue|issues|docs|refactor|perf|test|wip|users?)$/i;

/** The words of a branch's name: `fix/quotes-in-csv` is about "Fix quotes in csv". Undefined where it says nothing. */
export function fromBranch(name: string): string | undefined {
  const parts = name.split('/').filter((part) => part !== '');
  const last = parts.at(-1) ?? '';
  const words = last.replace(/^(?:[A-Z]{2,10}-)?\d+[-_]?/, '').split(/[-_.\s]+/).filter((word) => word !== '');
  if (words.length < 2 || COMMON.has(last.toLowerCase()) || /^\d+$/.test(words.join(''))) {
    return undefined;
  }
  const kind = parts.length > 1 ? (parts.at(-2) ?? '') : '';
  const verb = /^(?:fix|bugfix|hotfix|bug)$/i.test(kind) && !KINDS.test(words[0] ?? '') ? ['fix'] : [];
  return sentence([...verb, ...words].join(' '));
}

/** What a comment on the line says that is still to be done. */
export function fromTodo(line: string): string | undefined {
  const said = /\b(?:TODO|FIXME|XXX|HACK)\b(?:\([^)]*\))?\s*[:-]?\s*(?<what>.+)$/.exec(line)?.groups?.['what'];
  const what = said?.replace(/\s*(?:\*\/|-->|#\})\s*$/, '').trim();
  return what === undefined || what.length < 4 ? undefined : sentence(what.slice(0, LONGEST));
}

/** Selected words; code is not what is wanted, but for a comment. */
export function fromSelection(text: string): string | undefined {
  const plain = withoutComment(text);
  return plain.length < 4 || plain.length > MOST_TEXT || looksLikeCode(plain) || !hasWords(plain) ? undefined : plain;
}

/** The text of an issue: a title, or a title and a description. Single words, addresses and code are none. */
export function fromClipboard(text: string): string | undefined {
  const plain = text.trim().replace(/\r\n?/g, '\n');
  const [first = '', ...rest] = plain.split('\n');
  const title = first.replace(/^#+\s*/, '').trim();
  if (plain.length > MOST_TEXT || title.length > LONGEST || looksLikeCode(plain) || !hasWords(title)) {
    return undefined;
  }
  const described = rest.some((line) => line.trim() !== '');
  return described || ASKS.test(plain) ? [title, ...rest].join('\n').trim() : undefined;
}

const ASKS =
  /\b(?:should|must|expected|actual|reproduce|bug|issue|fix(?:es)?|fails?|failing|crash(?:es)?|errors?|broken|wrong|add|support|allow|handle|remove|rename|make|implement|improve|update)\b/i;

function hasWords(text: string): boolean {
  return text.split(/\s+/).filter((word) => /\p{L}{2,}/u.test(word)).length >= 3;
}

const CODE: readonly RegExp[] = [
  /[;{}]\s*$|=>/,
  /^\s*(?:def|class|import|from|return|const|let|var|func|fn|while|assert)\b/,
  /^\s*(?:@\w|#include|<\/?\w[^>]*>$)/,
  /^\s*[\w.]+(?:\(.*\)|\s*[-+*/|&]?=\s*\S.*)\s*$/,
];

/** Most lines end or begin as those of programs do. */
function looksLikeCode(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const code = lines.filter((line) => CODE.some((pattern) => pattern.test(line)));
  return code.length * 2 > lines.length || /^\s*(?:https?:\/\/\S+|[{[].*[}\]])\s*$/s.test(text);
}

function withoutComment(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(/^\s*(?:\/\/+|#+|--|\/?\*+\/?|<!--)\s?/, '').replace(/\s*(?:\*\/|-->)\s*$/, ''))
    .join('\n')
    .trim();
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The branch that a `HEAD` file names; undefined where it names a commit. */
export function branchOf(head: string): string | undefined {
  return /^ref: refs\/heads\/(?<name>.+?)\s*$/.exec(head)?.groups?.['name'];
}

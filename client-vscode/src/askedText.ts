import { baseName } from './documentUris';
import { withoutLinks } from './messageText';
import type { Interrupt } from './protocol';

type Translate = (message: string, ...values: (string | number)[]) => string;

/** The lines of a start's summary that say who works, who judges, and what it may take. */
const SUMMARY_LINES = 4;
const COLUMNS = 100;
/** Characters of what the worker said that a notification holds. */
const SAID = 200;

/** What is asked, on one line of a notification or of a picker; `most` characters of what it is about. */
export function oneLine(interrupt: Interrupt, most: number, t: Translate): string {
  const title = harmless(interrupt.title);
  const { preview } = interrupt;
  if (interrupt.about === 'start') {
    const lines = preview.split('\n').slice(0, SUMMARY_LINES).map(harmless);
    return [title, ...lines.filter((line) => line !== '')].join(' · ').replace(' · ', ' ');
  }
  if (isDiff(preview)) {
    const { added, removed } = changedLines(preview);
    return `${title} ${t('({0} lines added, {1} removed)', added, removed)}`;
  }
  const shown = harmless(preview);
  if (isCommand(interrupt)) {
    // Said once, and with its lines: the title has them on one.
    const command = cut(shown, most, t);
    const { folder } = interrupt;
    return folder === ''
      ? t('Run this command? {0}', command)
      : t('Run this command in {0}? {1}', harmless(baseName(folder.replaceAll('\\', '/'))), command);
  }
  return cut(title.includes(shown) ? title : `${title} ${shown}`, most, t);
}

/** Whether it asks for no more than to run a command. */
function isCommand({ title, preview, input }: Interrupt): boolean {
  return title.startsWith('Run `') && input['command'] === preview;
}

/** The same for a notification, with what the worker said when it asked. */
export function askedNotice(interrupt: Interrupt, most: number, t: Translate): string {
  const asked = oneLine(interrupt, most, t);
  const said = harmless(interrupt.said);
  return said === '' ? asked : `${asked} · ${t('The worker says: {0}', shortened(said, SAID))}`;
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** What stands around it, a paragraph each: where a command would run, what the worker said, what it did just before. */
export function context({ folder, said, before }: Interrupt, t: Translate): string[] {
  return [
    ...(folder === '' ? [] : [t('In {0}', visible(folder))]),
    ...(said === '' ? [] : [t('The worker says: {0}', visible(said))]),
    ...(before === '' ? [] : [t('Just before, it {0}', visible(before))]),
  ];
}

/** What a long command does is often at its end: nobody approves it by its beginning, or unaware that there is more. */
function cut(text: string, most: number, t: Translate): string {
  if (text.length <= most) {
    return text;
  }
  const half = Math.floor(most / 2);
  const [head, tail] = [text.slice(0, half), text.slice(text.length - half)];
  return `${head} … ${t('({0} more characters)', text.length - head.length - tail.length)} … ${tail}`;
}

/**
 * Text of a worker or of the workspace for a notification or a label: on one line, with the ends of lines and hidden
 * characters to be seen, and with no link or icon, which notifications and pickers would make of it.
 */
export function harmless(text: string): string {
  const line = visible(text)
    .trim()
    .replace(/\s*[\r\n\u2028\u2029]+\s*/g, ' ⏎ ')
    .replace(/\s+/g, ' ');
  return withoutLinks(line);
}

/** What the server says of something that went wrong begins small, as a line after a colon does: here it stands alone. */
export function sentence(text: string): string {
  const said = harmless(text);
  return /^[a-z]+(?:\s|$)/u.test(said) ? said.charAt(0).toUpperCase() + said.slice(1) : said;
}

/** The same for labels in which `$(name)` is an icon. */
export function label(text: string): string {
  return harmless(text).replace(/\$\(/g, '\\$(');
}

const HIDDEN = new RegExp(
  // Control characters, what changes the direction of text, and what takes no room.
  '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e' +
    '\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]',
  'gu',
);

export function visible(text: string): string {
  return text.replace(HIDDEN, '\ufffd');
}

export function isDiff(preview: string): boolean {
  return /^--- /m.test(preview) && /^\+\+\+ /m.test(preview) && /^@@ /m.test(preview);
}

export function changedLines(diff: string): { readonly added: number; readonly removed: number } {
  const lines = diff.split('\n');
  const first = lines.findIndex((line) => line.startsWith('@@ '));
  const count = (sign: string): number => lines.slice(first).filter((line) => line.startsWith(sign)).length;
  return { added: count('+'), removed: count('-') };
}

/**
 * The document in which what is asked can be read, with what stands around it. A command is as it is, between comments;
 * words stand under their title, on short lines.
 */
export function askedDocument(goalTitle: string, interrupt: Interrupt, t: Translate): string {
  const { title, preview, input } = interrupt;
  if (isDiff(preview)) {
    return preview;
  }
  const around = context(interrupt, t).flatMap((paragraph) => ['', ...paragraph.split('\n')]);
  if (input['command'] === preview) {
    const head = [isCommand(interrupt) ? t('Run this command?') : title, goalTitle];
    return `${[...commented(head), '', preview, ...commented(around)].join('\n')}\n`;
  }
  const words = preview === '' ? [] : ['', ...preview.split('\n')];
  return `${[title, goalTitle, ...words, ...around].flatMap(wrapped).join('\n').trimEnd()}\n`;
}

function commented(lines: readonly string[]): string[] {
  return lines.flatMap(wrapped).map((line) => (line === '' ? '' : `# ${line}`));
}

function wrapped(line: string): string[] {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > COLUMNS) {
    const at = rest.lastIndexOf(' ', COLUMNS);
    if (at <= 0) {
      break;
    }
    lines.push(rest.slice(0, at));
    rest = `  ${rest.slice(at + 1)}`;
    if (rest.lastIndexOf(' ', COLUMNS) <= 1) {
      break;
    }
  }
  return [...lines, rest];
}

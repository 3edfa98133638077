/**
 * Text of a worker or of the workspace for a notification or a label: on one line, with the ends of lines and hidden
 * characters to be seen, and with no link, which notifications would make of it: a joiner without width keeps it text.
 */
export function harmless(text: string): string {
  const line = visible(text)
    .trim()
    .replace(/\s*[\r\n\u2028\u2029]+\s*/g, ' ⏎ ')
    .replace(/\s+/g, ' ');
  return line.replaceAll('](', ']\u2060(');
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

/** One that our own links can follow: a bracket that is left open would take the first of them into its label. */
export function withoutOpenBracket(text: string): string {
  const closed = text.lastIndexOf(']') + 1;
  return text.slice(0, closed) + text.slice(closed).replaceAll('[', '\uff3b');
}

/** A fenced block of Markdown that its text can't leave. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map((run) => run[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

/** The last part of a uri's path, readable. */
export function baseName(uri: string): string {
  return readable(uri.slice(uri.lastIndexOf('/') + 1));
}

function readable(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

export function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

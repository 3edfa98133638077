/**
 * Text of others for a notification: VS Code makes `[words](command:…)` in it a link that runs a command. A joiner without
 * width keeps it text, and looks the same.
 */
export function withoutLinks(text: string): string {
  return text.replaceAll('](', ']\u2060(');
}

/** One that our own links can follow: a bracket that is left open would take the first of them into its label. */
export function withoutOpenBracket(text: string): string {
  const closed = text.lastIndexOf(']') + 1;
  return text.slice(0, closed) + text.slice(closed).replaceAll('[', '\uff3b');
}

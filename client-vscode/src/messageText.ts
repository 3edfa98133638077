/**
 * Text of others for a notification: VS Code makes `[words](command:…)` in it a link that runs a command. A joiner without
 * width keeps it text, and looks the same.
 */
export function withoutLinks(text: string): string {
  return text.replaceAll('](', ']\u2060(');
}

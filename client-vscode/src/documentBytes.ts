const MARK = '\uFEFF';

/**
 * A document's text as an editor of files reads it: the mark says that it is UTF-8, whatever the settings say of files, and no
 * sign makes it take a text for a binary file.
 */
export function asBytes(text: string): Uint8Array {
  return new TextEncoder().encode(MARK + text.replaceAll('\0', '\u2400'));
}

import type { CommandArguments } from './protocol';

/** Where all goals stand: of no run alone. */
export const GOALS = { kind: 'goals', runId: '' } as const;

/** What a `donewhen:` document shows, as the server is asked for it. */
export type Shown = CommandArguments['donewhen.run.document'] | typeof GOALS;

export const SCHEME = 'donewhen';

/** The parts of the document's uri. Its path ends as the tab is called, and as its language is known by. */
export function documentUri(shown: Shown, name: string): { scheme: string; path: string; query: string } {
  return { scheme: SCHEME, path: `/${shown.runId || shown.kind}/${name}`, query: JSON.stringify(shown) };
}

/** What the query of a document's uri names, which the server reads strictly; undefined for what is none of ours. */
export function shownBy(query: string): Shown | undefined {
  try {
    const value: unknown = JSON.parse(query);
    return typeof value === 'object' && value !== null && 'kind' in value && 'runId' in value ? (value as Shown) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A document's text as an editor of files reads it: the mark says that it is UTF-8, whatever the settings say of files, and no
 * sign makes it take a text for a binary file.
 */
export function asBytes(text: string): Uint8Array {
  return new TextEncoder().encode(`\uFEFF${text.replaceAll('\0', '\u2400')}`);
}

/** The server names it in the links of hovers. */
export const OPEN_EVIDENCE = 'donewhen.openEvidence';

import type { RunDocumentArgument } from './protocol';

/** Where all goals stand: of no run alone. */
export const GOALS = { kind: 'goals', runId: '' } as const;

/** What a `donewhen:` document shows, as the server is asked for it. */
export type Shown = RunDocumentArgument | typeof GOALS;

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

/** One evidence of one run. */
export interface EvidenceName {
  readonly runId: string;
  readonly evidenceId: string;
}

export const OPEN_EVIDENCE = 'donewhen.openEvidence';

/** The server keeps evidence in its state folder, as a file that every editor can open. */
const FILE = /\/evidence\/(?<runId>[0-9a-f]{8,})\/(?<evidenceId>E\d+)\.md$/;
const LINK = /\]\((?<target>file:\/\/[^()\s]+)\)/g;

/** The evidence that a file of the server's holds; undefined for any other file. */
export function evidenceOfFile(path: string): EvidenceName | undefined {
  const { runId, evidenceId } = FILE.exec(path)?.groups ?? {};
  return runId === undefined || evidenceId === undefined ? undefined : { runId, evidenceId };
}

/** The Markdown of a hover, whose links to files of evidence run the command that opens it. */
export function withCommands(markdown: string, title: string): string {
  return markdown.replace(LINK, (link, target: string) => {
    const about = evidenceOfFile(target);
    return about === undefined ? link : `](${commandUri(about)} "${title.replaceAll('"', '')}")`;
  });
}

function commandUri(about: EvidenceName): string {
  return `command:${OPEN_EVIDENCE}?${encodeURIComponent(JSON.stringify([about]))}`;
}

import { baseName } from './plainText';

/** What a `donewhen:` document shows. */
export type Shown =
  | { readonly kind: 'evidence'; readonly runId: string; readonly evidenceId: string }
  | { readonly kind: 'file'; readonly runId: string; readonly iteration: number; readonly uri: string }
  | { readonly kind: 'report'; readonly runId: string }
  | { readonly kind: 'step'; readonly runId: string; readonly stepId: string; readonly diff: boolean }
  | { readonly kind: 'interrupt'; readonly runId: string; readonly interruptId: string }
  | {
      readonly kind: 'proposed';
      readonly runId: string;
      readonly interruptId: string;
      readonly side: 'before' | 'after';
      readonly path: string;
    };

export const SCHEME = 'donewhen';

/** The parts of the document's uri. Its path ends as the tab is called, and as its language is known by. */
export function documentUri(shown: Shown, extension = 'txt'): { scheme: string; path: string; query: string } {
  return { scheme: SCHEME, path: `/${shown.runId}/${documentName(shown, extension)}`, query: JSON.stringify(shown) };
}

function documentName(shown: Shown, extension: string): string {
  switch (shown.kind) {
    case 'evidence':
      return `${shown.evidenceId}.md`;
    case 'report':
      return 'report.md';
    case 'step':
      return `${shown.stepId}.${shown.diff ? 'diff' : 'txt'}`;
    case 'interrupt':
      return `${shown.interruptId}.${extension}`;
    case 'proposed':
      return `${shown.interruptId}/${shown.side}/${baseName(shown.path)}`;
    case 'file':
      return `${String(shown.iteration)}/${baseName(shown.uri)}`;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** The document of each kind, from the fields that name it; undefined where one is missing. */
const KINDS: Readonly<Record<Shown['kind'], (fields: Fields, runId: string) => Shown | undefined>> = {
  report: (_, runId) => ({ kind: 'report', runId }),
  evidence: ({ evidenceId }, runId) =>
    typeof evidenceId === 'string' ? { kind: 'evidence', runId, evidenceId } : undefined,
  file: ({ iteration, uri }, runId) =>
    typeof iteration === 'number' && typeof uri === 'string' ? { kind: 'file', runId, iteration, uri } : undefined,
  step: ({ stepId, diff }, runId) =>
    typeof stepId === 'string' ? { kind: 'step', runId, stepId, diff: diff === true } : undefined,
  interrupt: ({ interruptId }, runId) =>
    typeof interruptId === 'string' ? { kind: 'interrupt', runId, interruptId } : undefined,
  proposed: ({ interruptId, side, path }, runId) =>
    typeof interruptId === 'string' && typeof path === 'string' && isSide(side)
      ? { kind: 'proposed', runId, interruptId, side, path }
      : undefined,
};

/** What the query of a document's uri names; undefined for what is none of ours. */
export function shownBy(query: string): Shown | undefined {
  const fields = parsed(query);
  const { kind, runId } = fields;
  if (typeof runId !== 'string' || typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) {
    return undefined;
  }
  return KINDS[kind as Shown['kind']](fields, runId);
}

function isSide(side: unknown): side is 'before' | 'after' {
  return side === 'before' || side === 'after';
}

function parsed(query: string): Fields {
  try {
    const value: unknown = JSON.parse(query);
    return typeof value === 'object' && value !== null ? (value as Fields) : {};
  } catch {
    return {};
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

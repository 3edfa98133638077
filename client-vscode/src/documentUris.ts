/** What a `donewhen:` document shows. */
export type Shown =
  | { readonly kind: 'evidence'; readonly runId: string; readonly evidenceId: string }
  | { readonly kind: 'file'; readonly runId: string; readonly iteration: number; readonly uri: string }
  | { readonly kind: 'report'; readonly runId: string }
  | { readonly kind: 'interrupt'; readonly runId: string; readonly interruptId: string };

export const SCHEME = 'donewhen';

/** The parts of the document's uri. Its path ends as the tab is called, and as its language is known by. */
export function documentUri(shown: Shown, preview = ''): { scheme: string; path: string; query: string } {
  return { scheme: SCHEME, path: `/${shown.runId}/${documentName(shown, preview)}`, query: JSON.stringify(shown) };
}

function documentName(shown: Shown, preview: string): string {
  switch (shown.kind) {
    case 'evidence':
      return `${shown.evidenceId}.md`;
    case 'report':
      return 'report.md';
    case 'interrupt':
      return `${shown.interruptId}.${previewExtension(preview)}`;
    case 'file':
      return `${String(shown.iteration)}/${baseName(shown.uri)}`;
  }
}

/** The last part of a uri's path, readable. */
export function baseName(uri: string): string {
  const last = uri.slice(uri.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** A preview is a diff, a command or words. */
export function previewExtension(preview: string): 'diff' | 'sh' | 'txt' {
  if (/^(?:diff |--- |\+\+\+ |@@ )/mu.test(preview)) {
    return 'diff';
  }
  return preview.includes('\n') || preview === '' ? 'txt' : 'sh';
}

/** What the query of a document's uri names; undefined for what is none of ours. */
export function shownBy(query: string): Shown | undefined {
  const { kind, runId, evidenceId, iteration, uri, interruptId } = parsed(query);
  if (typeof runId !== 'string') {
    return undefined;
  }
  if (kind === 'evidence' && typeof evidenceId === 'string') {
    return { kind, runId, evidenceId };
  }
  if (kind === 'file' && typeof iteration === 'number' && typeof uri === 'string') {
    return { kind, runId, iteration, uri };
  }
  if (kind === 'interrupt' && typeof interruptId === 'string') {
    return { kind, runId, interruptId };
  }
  return kind === 'report' ? { kind, runId } : undefined;
}

function parsed(query: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(query);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

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

/** The last part of a uri's path, readable. */
export function baseName(uri: string): string {
  const last = uri.slice(uri.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
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

function parsed(query: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(query);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

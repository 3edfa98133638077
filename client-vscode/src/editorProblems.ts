import type { EditorDiagnostic, EditorDiagnosticsParams } from './protocol';

export const OWN_SOURCE = 'donewhen';
const MOST_IN_FILE = 500;
const LONGEST_MESSAGE = 2_000;

/** A diagnostic as the editor has it: severities count from 0 there. */
export type EditorProblem = Omit<EditorDiagnostic, 'severity'> & { readonly severity: number };

/**
 * What the editor's other tools say about one file; the worst come first where there are too many.
 *
 * No version is claimed: the editor doesn't tell which text a tool looked at.
 */
export function editorDiagnostics(uri: string, problems: readonly EditorProblem[]): EditorDiagnosticsParams {
  const others = problems.filter((one) => one.source !== OWN_SOURCE);
  const kept =
    others.length > MOST_IN_FILE
      ? [...others].sort((one, other) => one.severity - other.severity).slice(0, MOST_IN_FILE)
      : others;
  const omitted = others.length - kept.length;
  return { uri, diagnostics: kept.map(wire), ...(omitted > 0 ? { omitted } : {}) };
}

function wire({ range, message, severity, source }: EditorProblem): EditorDiagnostic {
  const { start, end } = range;
  return {
    range: {
      start: { line: start.line, character: start.character },
      end: { line: end.line, character: end.character },
    },
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message,
    severity: severity + 1,
    ...(source === undefined ? {} : { source }),
  };
}

/** What was sent last for each file, so that only what changed is sent. */
export class Sent {
  private readonly last = new Map<string, string>();

  /** True where these differ from what was sent last; of a file that nothing was ever said of, an empty list doesn't. */
  differs(params: EditorDiagnosticsParams): boolean {
    const text = params.diagnostics.length === 0 ? undefined : JSON.stringify([params.diagnostics, params.omitted]);
    const known = this.last.get(params.uri);
    if (text === undefined) {
      this.last.delete(params.uri);
    } else {
      this.last.set(params.uri, text);
    }
    return known !== text;
  }

  forget(): void {
    this.last.clear();
  }
}

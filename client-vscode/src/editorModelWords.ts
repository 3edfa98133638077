/** A model's name begins so where the editor itself offers the model: `editor/VENDOR/ID`. */
export const EDITOR = 'editor/';

/** A model that the editor offers; `name` is for people. */
export interface Chosen {
  readonly model: string;
  readonly name: string;
  readonly vendor: string;
}

/** A call of a tool; its arguments are JSON, as text. */
interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface AskedMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
  readonly calls?: readonly Call[];
  /** The id of the call that a tool's message answers. */
  readonly answers?: string;
}

/** What `donewhen/model/complete` asks. */
export interface EditorModelAsked {
  readonly model: string;
  readonly messages: readonly AskedMessage[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly parameters: object }[];
  readonly schema: object | null;
}

type ProblemKind = 'consent' | 'blocked' | 'gone' | 'quota' | 'failed';

export type EditorModelReply =
  | { readonly text: string; readonly calls: readonly Call[]; readonly inputTokens?: number; readonly outputTokens?: number }
  | { readonly problem: { readonly kind: ProblemKind; readonly message: string } };

/** A turn in the roles that editors know: there is none for a system, nor for a tool. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly calls: readonly Call[];
  readonly results: readonly { readonly id: string; readonly text: string }[];
}

/** The vendor and the id in a name; ids may hold slashes. */
export function idOf(model: string): { readonly vendor: string; readonly id: string } {
  const rest = model.slice(EDITOR.length);
  const slash = rest.indexOf('/');
  return { vendor: rest.slice(0, slash), id: rest.slice(slash + 1) };
}

/** The messages in turns; the results of the calls of one turn are one turn. A schema is asked for in words, last. */
export function inOneTurn(messages: readonly AskedMessage[], schema: object | null): Turn[] {
  const turns: Turn[] = [];
  for (const { role, text, calls = [], answers } of messages) {
    const before = turns.at(-1);
    const result = role === 'tool' && answers !== undefined ? [{ id: answers, text }] : [];
    if (result.length > 0 && before?.role === 'user' && before.results.length > 0) {
      turns.splice(-1, 1, { ...before, results: [...before.results, ...result] });
    } else {
      turns.push({ role: role === 'assistant' ? role : 'user', text: result.length > 0 ? '' : text, calls, results: result });
    }
  }
  if (schema !== null) {
    const text = `Reply with one JSON object that follows this JSON schema, and with nothing else:\n${JSON.stringify(schema)}`;
    turns.push({ role: 'user', text, calls: [], results: [] });
  }
  return turns;
}

/** The arguments of a call as an object, which is all that an editor takes. */
export function harmlessObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { value };
  } catch {
    return { not_json: text };
  }
}

/** What a failure of the editor's means; its codes are those of `vscode.LanguageModelError`. */
export function kindOf(problem: unknown): ProblemKind {
  const { code, message } = (typeof problem === 'object' && problem !== null ? problem : {}) as { code?: unknown; message?: unknown };
  if (code === 'NoPermissions') {
    return 'consent';
  }
  if (code === 'Blocked') {
    return 'blocked';
  }
  if (/quota|rate.?limit.*(?:day|month)|premium request/i.test(String(message))) {
    return 'quota';
  }
  return code === 'NotFound' ? 'gone' : 'failed';
}

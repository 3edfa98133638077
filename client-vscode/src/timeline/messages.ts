/** One iteration in the list: what its row and its point in the chart show. */
export interface Row {
  readonly number: number;
  readonly label: string;
  readonly facts: string;
  readonly summary: string;
  /** What its point in the chart stands for. */
  readonly point: string;
  /** 0 to 1; null while it is under way. */
  readonly score: number | null;
  /** US dollars up to its end; null where a price is unknown. */
  readonly cost: number | null;
  readonly tone: Tone;
  /** Changes with whatever its details show. */
  readonly version: string;
}

export type Tone = 'plain' | 'good' | 'bad';

export interface Header {
  readonly title: string;
  readonly facts: string;
  readonly activity: string;
  /** The chart in words. */
  readonly chart: string;
  /** Why the chart has no cost, or not all of it. */
  readonly note: string;
  /** What a screen reader is told when it changes: rarely. */
  readonly news: string;
  /** How far the goal was before the first iteration: where the chart begins. */
  readonly before?: Row | undefined;
  /** Somebody works who can be told something in between. */
  readonly hintable: boolean;
}

/** The details of one iteration: titled lists of lines. */
export interface Section {
  readonly title: string;
  readonly lines: readonly Line[];
}

export interface Line {
  /** What kind of thing the text is about; before it. */
  readonly lead: string;
  readonly text: string;
  readonly note: string;
  readonly tone: Tone;
  readonly action: Action | undefined;
}

export type Action =
  | { readonly kind: 'evidence'; readonly evidenceId: string }
  | { readonly kind: 'change'; readonly number: number; readonly uri: string }
  | { readonly kind: 'step'; readonly stepId: string; readonly diff: boolean }
  | { readonly kind: 'file'; readonly uri: string };

/** One thing that the run did or does. */
export interface StepView {
  readonly id: string;
  /** Where it stands among the others. */
  readonly order: number;
  readonly kind: string;
  /** What kind of thing it is, in a word. */
  readonly lead: string;
  readonly title: string;
  readonly text: string;
  readonly diff: string;
  readonly counts: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly actions: readonly Action[];
}

/** The page's own words, in the person's language. */
export interface Words {
  readonly score: string;
  readonly cost: string;
  readonly iteration: string;
  readonly iterations: string;
  readonly points: string;
  readonly table: string;
  readonly unknown: string;
  readonly failed: string;
  readonly showTable: string;
  readonly showChart: string;
  readonly showEarlier: string;
  readonly loading: string;
  readonly empty: string;
  readonly activity: string;
  readonly hint: string;
  readonly sendHint: string;
  readonly showAll: string;
  readonly openFile: string;
  readonly evidence: string;
}

export type ToPage =
  | { readonly kind: 'none'; readonly text: string }
  | { readonly kind: 'run'; readonly runId: string; readonly words: Words; readonly header: Header; readonly rows: readonly Row[] }
  | { readonly kind: 'update'; readonly runId: string; readonly header: Header; readonly rows: readonly Row[] }
  | { readonly kind: 'detail'; readonly runId: string; readonly number: number; readonly sections: readonly Section[] }
  | { readonly kind: 'steps'; readonly runId: string; readonly steps: readonly StepView[] }
  | { readonly kind: 'hinted'; readonly runId: string; readonly text: string; readonly failed: boolean }
  | { readonly kind: 'focusHint'; readonly runId: string };

export type FromPage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'expand'; readonly runId: string; readonly number: number }
  | { readonly kind: 'hint'; readonly runId: string; readonly text: string }
  | { readonly kind: 'open'; readonly runId: string; readonly action: Action };

/** A message of the page; undefined for anything else. */
export function fromPage(value: unknown): FromPage | undefined {
  const message = fields(value);
  if (message['kind'] === 'ready') {
    return { kind: 'ready' };
  }
  const runId = message['runId'];
  if (typeof runId !== 'string') {
    return undefined;
  }
  if (message['kind'] === 'expand' && isNumber(message['number'])) {
    return { kind: 'expand', runId, number: message['number'] };
  }
  if (message['kind'] === 'hint' && typeof message['text'] === 'string') {
    return { kind: 'hint', runId, text: message['text'] };
  }
  const action = message['kind'] === 'open' ? toAction(fields(message['action'])) : undefined;
  return action === undefined ? undefined : { kind: 'open', runId, action };
}

function toAction({ kind, evidenceId, number, uri, stepId, diff }: Readonly<Record<string, unknown>>): Action | undefined {
  if (kind === 'step' && typeof stepId === 'string') {
    return { kind, stepId, diff: diff === true };
  }
  if (kind === 'file' && typeof uri === 'string') {
    return { kind, uri };
  }
  if (kind === 'evidence' && typeof evidenceId === 'string') {
    return { kind, evidenceId };
  }
  return kind === 'change' && isNumber(number) && typeof uri === 'string' ? { kind, number, uri } : undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

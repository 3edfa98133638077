import type { Row, Section, Step, Timeline } from '../protocol';

/** One iteration in the list and in the chart, with US dollars up to its end; null where a price is unknown. */
export interface ChartRow extends Row {
  readonly cost: number | null;
}

export interface Header extends Pick<Timeline, 'facts' | 'activity' | 'chart' | 'news'> {
  readonly title: string;
  /** Why the chart has no cost, or not all of it. */
  readonly note: string;
  /** How far the goal was before the first iteration: where the chart begins. */
  readonly before: ChartRow | undefined;
  /** Somebody works who can be told something in between. */
  readonly hintable: boolean;
}

export type Action =
  | { readonly kind: 'evidence'; readonly evidenceId: string }
  | { readonly kind: 'change'; readonly number: number; readonly uri: string }
  | { readonly kind: 'step'; readonly stepId: string; readonly diff: boolean }
  | { readonly kind: 'file'; readonly uri: string };

/** The page can't translate: it is given its words. */
export function wordsOf(t: (message: string) => string) {
  return {
    score: t('Score'),
    cost: t('Cost so far'),
    iteration: t('Iteration'),
    iterations: t('Iterations'),
    points: t('Iterations in the chart'),
    table: t('Score and cost of the iterations'),
    unknown: t('unknown'),
    failed: t('failed'),
    showTable: t('Show as table'),
    showChart: t('Show as chart'),
    showEarlier: t('Show earlier iterations'),
    loading: t('Loading…'),
    empty: t('No iteration has ended yet.'),
    activity: t('Activity'),
    hint: t('Hint to the worker'),
    sendHint: t('Send Hint'),
    showAll: t('Show All'),
    openFile: t('Open File'),
    evidence: t('Evidence'),
  };
}

export type Words = ReturnType<typeof wordsOf>;

export type ToPage =
  | { readonly kind: 'none'; readonly text: string }
  | { readonly kind: 'run'; readonly runId: string; readonly words: Words; readonly header: Header; readonly rows: readonly ChartRow[] }
  | { readonly kind: 'update'; readonly runId: string; readonly header: Header; readonly rows: readonly ChartRow[] }
  | { readonly kind: 'detail'; readonly runId: string; readonly number: number; readonly sections: readonly Section[] }
  | { readonly kind: 'steps'; readonly runId: string; readonly steps: readonly Step[] }
  | { readonly kind: 'hinted'; readonly runId: string; readonly text: string; readonly failed: boolean }
  | { readonly kind: 'focusHint'; readonly runId: string };

export type FromPage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'expand'; readonly runId: string; readonly number: number }
  | { readonly kind: 'hint'; readonly runId: string; readonly text: string }
  | { readonly kind: 'open'; readonly runId: string; readonly action: Action };

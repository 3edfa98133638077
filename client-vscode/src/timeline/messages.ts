import type { Section, Step, Timeline } from '../protocol';

/** What a link of the page opens: what one of our commands shows, or a file. */
export type Link =
  | { readonly opens: 'openEvidence'; readonly evidenceId: string }
  | { readonly opens: 'openIterationDiff'; readonly iteration: number; readonly uri: string }
  | { readonly opens: 'openStep'; readonly stepId: string; readonly diff: boolean }
  | { readonly opens: 'file'; readonly uri: string };

/** A run as it is now; in the first message about it, with the rows of all its iterations. */
export interface ShownRun {
  readonly kind: 'run';
  readonly runId: string;
  readonly title: string;
  /** Somebody works who can be told something in between. */
  readonly hintable: boolean;
  readonly timeline: Timeline;
}

export type ToPage =
  | { readonly kind: 'none'; readonly text: string }
  | ShownRun
  | { readonly kind: 'detail'; readonly runId: string; readonly number: number; readonly sections: readonly Section[] }
  | { readonly kind: 'steps'; readonly runId: string; readonly steps: readonly Step[] }
  | { readonly kind: 'hinted'; readonly runId: string; readonly text: string; readonly failed: boolean }
  | { readonly kind: 'focusHint'; readonly runId: string };

export type FromPage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'expand'; readonly runId: string; readonly number: number }
  | { readonly kind: 'hint'; readonly runId: string; readonly text: string }
  | { readonly kind: 'open'; readonly runId: string; readonly link: Link };

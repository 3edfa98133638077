import { harmless } from './askedText';
import type { Language } from './goalNodes';
import { runStatus, tally } from './phrases';
import type { Snapshot } from './protocol';
import { isActive, isResumable } from './snapshots';
import { duration } from './statusText';

/** The runs that ended before this window's eyes, and that nobody stopped: told whatever a person looks at. */
export class Endings {
  private readonly active = new Set<string>();
  private readonly ended = new Set<string>();

  note(runs: readonly Snapshot[]): void {
    for (const run of runs) {
      if (isActive(run)) {
        this.active.add(run.runId);
        this.ended.delete(run.runId);
      } else if (this.active.delete(run.runId) && isOutcome(run)) {
        this.ended.add(run.runId);
      }
    }
  }

  has(run: Snapshot): boolean {
    return this.ended.has(run.runId);
  }
}

/** Whether the run ended, or paused, by itself: what a person stopped is not news to them. */
function isOutcome(run: Snapshot): boolean {
  if (run.status === 'paused') {
    return run.pausedBy !== 'person' && run.reason !== '';
  }
  return run.status !== null && run.status !== 'cancelled' && !isActive(run) && !isResumable(run);
}

/** What a notification says of a run that ended, or paused by itself. */
export function outcome(run: Snapshot, language: Language): string {
  const met = tally(run.counts, language);
  const title = harmless(run.title);
  if (run.status === 'complete') {
    const took = duration(run.elapsedSeconds);
    // What a person waived is not proven, and never said to be.
    return run.counts.waived === 0
      ? language.t('Proven: {0} of {1} in {2}. “{3}” is complete.', run.counts.met, run.counts.total, took, title)
      : language.t('Complete: {0} in {1}. “{2}” is complete, but not all of it is proven.', met, took, title);
  }
  const why = harmless(run.reason === '' ? run.missing : run.reason).slice(0, LONGEST_REASON);
  if (run.status === 'paused') {
    return language.t('“{0}” is paused: {1}', title, why);
  }
  const status = runStatus(run.status, language);
  return language.t('“{0}” ended with {1} ({2}): {3}', title, met, status, why);
}

const LONGEST_REASON = 300;

import type { Asked, Interrupt, Snapshot } from './protocol';
import { FITTING } from './snapshots';

/** An interrupt with the run that it belongs to, and how it is asked and answered. */
export interface Open {
  readonly run: Snapshot;
  readonly interrupt: Interrupt;
  readonly asked: Asked;
}

/** What is open in these runs, the oldest first; an answer counts also while nobody goes on with the run. */
export function openOf(runs: readonly Snapshot[]): Open[] {
  return runs
    .filter(FITTING.asks)
    .flatMap(openIn)
    .sort((one, other) => one.interrupt.askedAt.localeCompare(other.interrupt.askedAt));
}

export function openIn(run: Snapshot): Open[] {
  return run.interrupts.flatMap((interrupt) => {
    const asked = run.view.asked.find(({ id }) => id === interrupt.id);
    return asked === undefined ? [] : [{ run, interrupt, asked }];
  });
}

/** Whether it is open still, these being the runs by now. */
export function isOpenIn(runs: readonly Snapshot[], open: Open): boolean {
  return openOf(runs).some(({ run, interrupt }) => run.runId === open.run.runId && interrupt.id === open.interrupt.id);
}

/** How many questions wait for a person, those of runs that nobody goes on with included. */
export function waiting(runs: readonly Snapshot[]): number {
  return runs.reduce((sum, { interrupts }) => sum + interrupts.length, 0);
}

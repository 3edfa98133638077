import type { Counts, Snapshot } from './protocol';
import { isAsking, isHalted, isWorking } from './snapshots';

type Translate = (message: string, ...values: (string | number)[]) => string;

/**
 * `Goal: iteration 3/10 · 2 of 5 met · $0.12`, with one icon: `met` is what is proven. What a person waived is said where the goal is
 * complete, since the numbers would belie it; else the tooltip says it. While anything is asked, here or by another run,
 * it says that first. At the end of a run that proved everything: `Goal: iteration 4/10 · 5 of 5 met · proven in 41 s`.
 */
export function statusText(snapshot: Snapshot, t: Translate, other?: Snapshot): string {
  const { counts, complete, cost } = snapshot;
  const asks = other !== undefined || isAsking(snapshot) || isHalted(snapshot);
  const icon = other === undefined ? statusIcon(snapshot) : 'bell-dot';
  const parts = [
    `$(${icon}) ${goal(snapshot, t)}`,
    asks ? t('waiting for you') : undefined,
    tally(complete ? counts : { ...counts, waived: 0 }, t),
    counts.regressed > 0 ? t('{0} regressed', counts.regressed) : undefined,
    ending(snapshot, t),
    cost.usd === 0 ? undefined : money(cost.usd),
  ];
  return parts.filter((part) => part !== undefined).join(' · ');
}

/** At the end of a run that proved everything: how long it took; later what of it has to be checked again. */
function ending({ status, complete, counts, elapsedSeconds }: Snapshot, t: Translate): string | undefined {
  if (status !== 'complete') {
    return undefined;
  }
  if (counts.stale > 0) {
    return t('{0} stale', counts.stale);
  }
  return complete && counts.waived === 0 ? t('proven in {0}', duration(elapsedSeconds)) : undefined;
}

/** `2 of 5 met, 1 waived`: what a person waived is not proven. */
export function tally({ met, waived, total }: Pick<Counts, 'met' | 'waived' | 'total'>, t: Translate): string {
  return waived === 0 ? t('{0} of {1} met', met, total) : t('{0} of {1} met, {2} waived', met, total, waived);
}

/** The icon that says how it is without reading: a spinner only while somebody works. */
export function statusIcon(snapshot: Snapshot): string {
  if (snapshot.interrupts.length > 0 || isHalted(snapshot)) {
    return 'bell-dot';
  }
  if (isWorking(snapshot)) {
    return 'loading~spin';
  }
  if (snapshot.complete) {
    // An override stood in for proof, or no run was: not the full mark.
    return snapshot.status === null || snapshot.counts.waived > 0 ? 'pass' : 'pass-filled';
  }
  return snapshot.status === 'complete' ? formerlyMet(snapshot.counts) : (ICONS[snapshot.status ?? ''] ?? 'target');
}

/** It was met: what an edit has broken since is told apart from what an edit may have broken. */
function formerlyMet({ unmet, regressed }: Counts): string {
  return unmet + regressed > 0 ? 'error' : 'history';
}

const ICONS: Readonly<Record<string, string>> = {
  running: 'eye',
  waiting: 'bell-dot',
  paused: 'debug-pause',
  interrupted: 'debug-disconnect',
  capped: 'warning',
  timed_out: 'warning',
  over_budget: 'warning',
  stalled: 'warning',
  blocked: 'error',
  impossible: 'error',
  crashed: 'error',
  cancelled: 'circle-slash',
};

function goal(snapshot: Snapshot, t: Translate): string {
  if (snapshot.status === null || snapshot.iteration === 0 || snapshot.worker === 'human') {
    return t('Goal'); // a person's edits come in no turns
  }
  return snapshot.maxIterations === null
    ? t('Goal: iteration {0}', snapshot.iteration)
    : t('Goal: iteration {0}/{1}', snapshot.iteration, snapshot.maxIterations);
}

/** `1 h 02 min`, `3 min 20 s` or `41 s`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) {
    return `${whole} s`;
  }
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes} min ${two(whole % 60)} s`
    : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** `$0.12`, or undefined where it is not known. */
export function money(usd: number | null): string | undefined {
  if (usd === null) {
    return undefined;
  }
  return usd !== 0 && usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

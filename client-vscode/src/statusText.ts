import type { Snapshot } from './protocol';
import { isHalted, isWorking } from './snapshots';

/** `Goal 3/10 · 2 of 5 met`, with at most one icon. `t` translates. */
export function statusText(snapshot: Snapshot, t: (message: string, ...values: (string | number)[]) => string): string {
  const { counts } = snapshot;
  const met = t('{0} of {1} met', counts.met + counts.waived, counts.total);
  const icon = statusIcon(snapshot);
  return `${icon === '' ? '' : `$(${icon}) `}${t('Goal')}${turn(snapshot)} · ${met}`;
}

/** The icon that says how it is without reading: a spinner only while somebody works. */
export function statusIcon(snapshot: Snapshot): string {
  if (snapshot.interrupts.length > 0 || isHalted(snapshot)) {
    return 'bell-dot';
  }
  if (isWorking(snapshot)) {
    return 'loading~spin';
  }
  if (snapshot.status === null) {
    return snapshot.complete ? 'pass' : 'target';
  }
  return ICONS[snapshot.status] ?? 'target';
}

const ICONS: Readonly<Record<string, string>> = {
  running: 'eye',
  waiting: 'bell-dot',
  paused: 'debug-pause',
  interrupted: 'debug-disconnect',
  complete: 'pass-filled',
  capped: 'warning',
  timed_out: 'warning',
  over_budget: 'warning',
  stalled: 'warning',
  blocked: 'error',
  impossible: 'error',
  crashed: 'error',
  cancelled: 'circle-slash',
};

function turn(snapshot: Snapshot): string {
  if (snapshot.status === null || snapshot.iteration === 0) {
    return '';
  }
  return snapshot.maxIterations === null ? ` ${snapshot.iteration}` : ` ${snapshot.iteration}/${snapshot.maxIterations}`;
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

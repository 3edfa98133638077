import type { Icon, Language } from './goalNodes';
import type { Requirement, Snapshot } from './protocol';
import { money as knownMoney, statusIcon, tally as tallied } from './statusText';

type RequirementStatus = Requirement['status'];

const REQUIREMENT_ICONS: Readonly<Record<RequirementStatus, Icon>> = {
  met: { name: 'pass-filled', color: 'testing.iconPassed' },
  unmet: { name: 'error', color: 'testing.iconFailed' },
  unverified: { name: 'question', color: 'testing.iconUnset' },
  stale: { name: 'history', color: 'testing.iconQueued' },
  waived: { name: 'circle-slash', color: 'testing.iconSkipped' },
  regressed: { name: 'error', color: 'testing.iconFailed' },
};

const RUN_COLORS: Readonly<Record<string, string>> = {
  'pass-filled': 'testing.iconPassed',
  pass: 'testing.iconPassed',
  error: 'testing.iconFailed',
  warning: 'list.warningForeground',
  'bell-dot': 'list.warningForeground',
  'debug-disconnect': 'list.warningForeground',
};

export function requirementIcon(requirement: Pick<Requirement, 'status' | 'renewing'>): Icon {
  return requirement.renewing ? { name: 'sync', color: 'testing.iconQueued' } : REQUIREMENT_ICONS[requirement.status];
}

export function runIcon(snapshot: Snapshot): Icon {
  const name = statusIcon(snapshot);
  const color = RUN_COLORS[name];
  return color === undefined ? { name } : { name, color };
}

/** A requirement's status in words. */
export function requirementStatus(status: RequirementStatus, { t }: Language): string {
  const words: Readonly<Record<RequirementStatus, string>> = {
    met: t('met'),
    unmet: t('unmet'),
    unverified: t('unverified'),
    stale: t('stale'),
    waived: t('waived'),
    regressed: t('regressed'),
  };
  return words[status];
}

/** A run's status in words; that of a bare check where there is no run. */
export function runStatus(status: string | null, { t }: Language): string {
  if (status === null) {
    return t('checked');
  }
  const words: Readonly<Record<string, string>> = {
    running: t('running'),
    waiting: t('waiting for you'),
    paused: t('paused'),
    interrupted: t('interrupted'),
    complete: t('complete'),
    capped: t('capped'),
    timed_out: t('timed out'),
    over_budget: t('over budget'),
    stalled: t('stalled'),
    blocked: t('blocked'),
    impossible: t('impossible'),
    cancelled: t('cancelled'),
    crashed: t('crashed'),
  };
  return words[status] ?? status;
}

/** `2 of 5 met, 1 waived`. */
export function tally(counts: { met: number; waived: number; total: number }, { t }: Language): string {
  return tallied(counts, t);
}

/** What a run does in its phase; nothing where a person works: what it waits for is said already. */
export function phaseName({ phase, worker }: Snapshot, { t }: Language): string {
  if (phase === null || (phase === 'working' && worker === 'human')) {
    return '';
  }
  return { working: t('working'), checking: t('checking'), judging: t('judging') }[phase];
}

/** `iteration 3/10`, or `iteration 3` without a limit; empty before the first one, and where a person works. */
export function turn({ status, iteration, maxIterations, worker }: Snapshot, { t }: Language): string {
  if (status === null || iteration === 0 || worker === 'human') {
    return '';
  }
  return maxIterations === null ? t('iteration {0}', iteration) : t('iteration {0}/{1}', iteration, maxIterations);
}

/** US dollars; that a price is unknown is said, since it is not nothing. */
export function money(usd: number | null, { t }: Language): string {
  return knownMoney(usd) ?? t('cost unknown');
}

/** What was spent, for a list of facts: nothing where no model was asked. */
export function spent(usd: number | null, language: Language): string[] {
  return usd === 0 ? [] : [money(usd, language)];
}

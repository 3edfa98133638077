import type { CommandResults } from './protocol';

export type OfferedCheck = CommandResults['donewhen.goal.detect']['checks'][number];

type Translate = (message: string, ...values: (string | number)[]) => string;

/** How a check stands now, and where it comes from, on one line. */
export function stateOf(check: OfferedCheck, trying: boolean, t: Translate): string {
  const took = check.seconds === null ? '' : ` · ${t('{0} s', check.seconds.toFixed(1))}`;
  switch (check.standing) {
    case 'green':
      return `${t('passes now')}${took} · ${check.why}`;
    case 'red':
      return `${t('fails now')}: ${check.reason ?? check.why}${took}`;
    case 'slow':
      return `${t('slow')}: ${check.reason ?? check.why}`;
    case null:
      return trying && check.suggested ? `${t('being tried…')} · ${check.why}` : check.why;
  }
}

/** Whether all of these are known to pass already: a run of them would be complete at once. */
export function allPass(checks: readonly OfferedCheck[]): boolean {
  return checks.length > 0 && checks.every((check) => check.standing === 'green');
}

/** What a check that fails now asks for. */
export function fromCheck(check: OfferedCheck, t: Translate): string | undefined {
  return check.standing === 'red' ? t('Make `{0}` pass', check.command) : undefined;
}

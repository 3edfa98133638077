import { type Language, withoutMarks } from './goalNodes';
import type { Evidence, Location, Requirement, Snapshot } from './protocol';

/** How a requirement or one of its tests stands, as the Testing view knows it. */
export type Standing = 'passed' | 'failed' | 'errored' | 'skipped' | 'queued' | 'unknown';

export interface ItemMessage {
  readonly text: string;
  readonly at: Location | undefined;
}

export interface RequirementItem {
  readonly id: string;
  readonly label: string;
  readonly standing: Standing;
  /** What failed, and where the evidence says that it did; empty where nothing did. */
  readonly messages: readonly ItemMessage[];
  /** Changes with whatever the item shows. */
  readonly version: string;
}

/** One test that a check of the requirement ran. */
export interface CaseItem {
  readonly id: string;
  readonly label: string;
  readonly standing: Standing;
  readonly message: string;
  /** Relative to the workspace folder; undefined where the report names none. */
  readonly path: string | undefined;
  readonly line: number;
}

/** Tests of one requirement that are listed, the failed ones first. */
const MOST_CASES = 500;

const STANDINGS: Readonly<Record<Requirement['status'], Standing>> = {
  met: 'passed',
  unmet: 'failed',
  regressed: 'failed',
  unverified: 'unknown',
  stale: 'unknown',
  waived: 'skipped',
};

export function requirementItem(run: Snapshot, one: Requirement, statusOf: (one: Requirement) => string): RequirementItem {
  const standing = one.renewing ? 'queued' : STANDINGS[one.status];
  const reason = withoutMarks(one.reason);
  const places = one.locations.map((at) => ({ text: at.message === '' ? reason : at.message, at }));
  const failed = standing === 'failed';
  return {
    id: one.id,
    label: labelOf(one, standing, statusOf),
    standing,
    messages: failed ? (places.length > 0 ? places : [{ text: reason, at: undefined }]) : [],
    version: JSON.stringify([standing, one.status, one.reason, one.evidenceIds, run.runId]),
  };
}

/** With the status in words where the item's icon says less. A description would be read out in place of the label. */
function labelOf(one: Requirement, standing: Standing, statusOf: (one: Requirement) => string): string {
  const text = `R${String(one.number)} ${withoutMarks(one.text)}`;
  return standing === 'unknown' || standing === 'skipped' ? `${text} · ${statusOf(one)}` : text;
}

/** The tests of a check's evidence; none where it is something else. */
export function caseItems({ observation }: Pick<Evidence, 'observation'>): readonly CaseItem[] {
  if (observation.kind !== 'checkResult') {
    return [];
  }
  const outcomes = { passed: 'passed', failed: 'failed', error: 'errored', skipped: 'skipped' } as const;
  const cases = observation.tests.map((one) => ({
    id: `${observation.checkId} ${one.name}`,
    label: one.name,
    standing: outcomes[one.outcome],
    message: one.message,
    path: one.path ?? undefined,
    line: one.line ?? 0,
  }));
  const rank = ({ standing }: CaseItem): number => (standing === 'failed' || standing === 'errored' ? 0 : 1);
  return [...cases].sort((a, b) => rank(a) - rank(b)).slice(0, MOST_CASES);
}

/** What the checks among the evidence printed, for a terminal, and how long they took. */
export function printed(evidence: readonly Pick<Evidence, 'observation'>[]): { output: string; milliseconds: number } {
  const results = evidence.flatMap(({ observation }) => (observation.kind === 'checkResult' ? [observation] : []));
  const blocks = results.map(({ command, output }) => [`$ ${command}`, ...output.trimEnd().split('\n'), ''].join('\r\n'));
  return { output: blocks.join('\r\n'), milliseconds: Math.round(results.reduce((sum, { seconds }) => sum + seconds, 0) * 1000) };
}

/** The line of the goal file that states the requirement, 0-based: by its text, else by its number. */
export function requirementLine(text: string, { text: wanted, number }: Pick<Requirement, 'text' | 'number'>): number | undefined {
  const boxes = text.split('\n').flatMap((line, at) => (/^[-*+][ \t]+\[[ xX]\][ \t]/.test(line) ? [{ line, at }] : []));
  return (boxes.find(({ line }) => line.trimEnd().endsWith(wanted)) ?? boxes[number - 1])?.at;
}

/** What is waited for, said of a run of tests that ended before it was there. */
export function unknownText(one: Requirement, { t }: Language): string {
  return one.reason === '' ? t('Nothing is known about it yet.') : withoutMarks(one.reason);
}

import { type Language, withoutMarks } from './goalNodes';
import { markdownText } from './markdownText';
import { requirementStatus, runStatus, spent, tally } from './phrases';
import type { Requirement, Snapshot } from './protocol';

const MARKS: Readonly<Record<Requirement['status'], string>> = {
  met: '✓',
  unmet: '✗',
  regressed: '✗',
  unverified: '?',
  stale: '~',
  waived: '!',
};
const LONGEST = 600;

/** Where goals stand, in Markdown for the person who asked; what others wrote is only ever text in it. */
export function statusAnswer(runs: readonly Snapshot[], language: Language): string {
  return runs.map((run) => [heading(run, language), ...run.requirements.map((one) => row(one, language))].join('\n')).join('\n\n');
}

/** Why goals are not proven: each requirement that is missing with its reason, what was found, and what is asked. */
export function whyAnswer(runs: readonly Snapshot[], wanted: string, language: Language): string {
  return runs.map((run) => whyOne(run, wanted, language)).join('\n\n');
}

function whyOne(run: Snapshot, wanted: string, language: Language): string {
  const { t } = language;
  const named = /\bR(\d+)\b/i.exec(wanted)?.[1];
  const all = run.requirements.filter((one) => named === undefined || String(one.number) === named);
  const missing = named === undefined ? all.filter(({ status }) => status !== 'met' && status !== 'waived') : all;
  const reasons = missing.map((one) => `${row(one, language)}\n\n  ${text(one.reason) || t('Nothing is known about it yet.')}`);
  const findings = run.integrity.filter(({ accepted }) => !accepted).map((one) => `- ✗ ${one.id}: ${text(one.message)}`);
  const asked = run.interrupts.map((one) => `- ${t('Waiting for your answer: {0}', text(one.title))}`);
  const ended = run.reason === '' || run.complete ? [] : [text(run.reason)];
  const said = [...reasons, ...(named === undefined ? [...findings, ...asked] : [])];
  return [heading(run, language), ...ended, ...(said.length === 0 ? [t('Nothing is missing.')] : said)].join('\n\n');
}

function heading(run: Snapshot, language: Language): string {
  const facts = [runStatus(run.status, language), tally(run.counts, language), ...spent(run.cost.usd, language)];
  return `**${text(run.title)}**: ${facts.join(' · ')}\n`;
}

function row(one: Requirement, language: Language): string {
  return `- ${MARKS[one.status]} R${String(one.number)} ${text(withoutMarks(one.text))} (${requirementStatus(one.status, language)})`;
}

function text(words: string): string {
  const line = words.replace(/\s+/g, ' ').trim();
  return markdownText(line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line);
}

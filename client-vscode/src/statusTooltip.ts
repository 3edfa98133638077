import { context } from './askedText';
import { type Language, withoutMarks } from './goalNodes';
import { markdownText } from './markdownText';
import { phaseName, runStatus, spent, tally, turn } from './phrases';
import type { Requirement, Snapshot } from './protocol';
import { duration } from './statusText';

const MOST = 8;

/** Markdown: where it stands, what is unmet, what a person waived, cost and time, and whether another run asks. */
export function statusTooltip(snapshot: Snapshot, language: Language, other?: Snapshot): string {
  const standing = [turn(snapshot, language), tally(snapshot.counts, language)].filter((one) => one !== '').join(' · ');
  const paragraphs = [
    `**${markdownText(withoutMarks(snapshot.title))}**`,
    markdownText(phase(snapshot, language)),
    markdownText(standing),
    ...asked(snapshot, language),
    open(snapshot, language),
    snapshot.guard === null ? '' : `$(shield) ${markdownText(language.t('On guard: the checks run again after each edit.'))}`,
    footer(snapshot, language),
    other === undefined ? '' : `$(bell-dot) ${markdownText(waits(other, language))}`,
  ];
  return paragraphs.filter((one) => one !== '').join('\n\n');
}

/** What a screen reader says for the item: the same, in a sentence. */
export function spokenStatus(snapshot: Snapshot, language: Language, other?: Snapshot): string {
  const asked = snapshot.interrupts[0]?.title;
  const facts = [
    runStatus(snapshot.status, language),
    turn(snapshot, language),
    tally(snapshot.counts, language),
    asked === undefined ? '' : language.t('it asks: {0}', asked),
    other === undefined ? '' : waits(other, language),
  ];
  return language.t('Goal {0}: {1}', withoutMarks(snapshot.title), facts.filter((one) => one !== '').join(', '));
}

function waits(other: Snapshot, { t }: Language): string {
  return t('“{0}” is waiting for you', withoutMarks(other.title));
}

function phase(snapshot: Snapshot, language: Language): string {
  const [first] = snapshot.interrupts;
  if (first !== undefined) {
    return language.t('Waiting for you: {0}', first.title);
  }
  const status = runStatus(snapshot.status, language);
  const doing = snapshot.activity ?? phaseName(snapshot, language);
  const detail = snapshot.halt?.reason ?? (doing === '' ? snapshot.reason : doing);
  return detail === '' ? status : `${status} · ${detail}`;
}

/** What stands around the question that it waits with, in the order in which a person needs it. */
function asked({ interrupts: [first] }: Snapshot, { t }: Language): string[] {
  return first === undefined ? [] : context(first, t).map(markdownText);
}

function open(snapshot: Snapshot, { t }: Language): string {
  const unmet = snapshot.requirements.filter((one) => one.status !== 'met' && one.status !== 'waived');
  const findings = snapshot.integrity.filter((one) => !one.accepted);
  const waived = snapshot.requirements.filter((one) => one.status === 'waived');
  const lines = [
    ...unmet.map(requirementLine),
    ...findings.map((one) => `$(shield) ${markdownText(`${one.id}: ${one.message}`)}`),
    ...waived.map((one) => `${requirementLine(one)} · ${t('waived')}`),
  ];
  const more = lines.length - MOST;
  const shown = more > 0 ? [...lines.slice(0, MOST), t('and {0} more', more)] : lines;
  // Each on a line of its own, with its icon in place of a bullet.
  return shown.join('  \n');
}

const ICONS: Readonly<Record<Requirement['status'], string>> = {
  met: 'pass-filled',
  unmet: 'error',
  stale: 'history',
  unverified: 'question',
  waived: 'circle-slash',
  regressed: 'error',
};

function requirementLine(one: Requirement): string {
  return `$(${ICONS[one.status]}) ${markdownText(`${withoutMarks(one.text)} (R${one.number})`)}`;
}

function footer(snapshot: Snapshot, language: Language): string {
  return [...spent(snapshot.cost.usd, language), duration(snapshot.elapsedSeconds)].map(markdownText).join(' · ');
}

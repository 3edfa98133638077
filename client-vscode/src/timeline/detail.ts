import { type Language, withoutMarks } from '../goalNodes';
import { money, requirementStatus } from '../phrases';
import type { CallSummary, IterationDocument, RequirementView } from '../protocol';
import type { Line, Section } from './messages';

/** More lines than these help nobody; how many are left out is said. */
const MOST_LINES = 200;

/** One iteration in full: what the worker did and says, the checks, the verdict, the files, what it cost. */
export function iterationSections(detail: IterationDocument, paths: readonly string[], language: Language): Section[] {
  const { t } = language;
  const sections: Section[] = [
    { title: t('What the worker did'), lines: workLines(detail) },
    { title: t('What the worker says'), lines: claimLines(detail, language) },
    { title: t('Checks'), lines: checkLines(detail, language) },
    { title: t('Verdict'), lines: detail.verdict.map((one) => verdictLine(one, language)) },
    { title: t('Changed files'), lines: fileLines(detail, paths) },
    { title: t('Calls to models'), lines: callLines(detail.calls, language) },
  ];
  return sections.filter(({ lines }) => lines.length > 0).map((section) => bounded(section, language));
}

function workLines(detail: IterationDocument): Line[] {
  const steps = detail.steps.map(({ kind, summary, ok }) => ({
    ...line(summary, '', ok ? 'plain' : 'bad'),
    lead: kind,
  }));
  return detail.error === null ? steps : [...steps, line(detail.error, '', 'bad')];
}

/** A worker that finished and said nothing more needs no line. */
function claimLines({ claim }: IterationDocument, { t }: Language): Line[] {
  const states: Readonly<Record<string, string>> = {
    finished: t('finished'),
    blocked: t('blocked'),
    impossible: t('impossible'),
    question: t('a question'),
  };
  const state = states[claim.state] ?? claim.state;
  return claim.text === '' && claim.state === 'finished' ? [] : [line(claim.text === '' ? state : claim.text, state)];
}

function checkLines(detail: IterationDocument, { t }: Language): Line[] {
  return detail.checks.map((check) => ({
    lead: '',
    text: check.command,
    note: check.reason === '' ? (check.passed ? t('passed') : t('not passed')) : withoutMarks(check.reason),
    tone: check.passed ? 'good' : 'bad',
    action: { kind: 'evidence', evidenceId: check.evidenceId },
  }));
}

function verdictLine(one: RequirementView, language: Language): Line {
  const tone = one.status === 'met' || one.status === 'waived' ? 'good' : one.status === 'unmet' ? 'bad' : 'plain';
  const [evidenceId] = one.evidenceIds;
  return {
    ...line(`R${String(one.number)} ${requirementStatus(one.status, language)}`, withoutMarks(one.reason), tone),
    action: evidenceId === undefined ? undefined : { kind: 'evidence', evidenceId },
  };
}

/** `paths` are the same files relative to the workspace folder, as snapshots name them. */
function fileLines(detail: IterationDocument, paths: readonly string[]): Line[] {
  return detail.changedFiles.map((uri) => ({
    lead: '',
    text: shownPath(uri, paths),
    note: '',
    tone: 'plain',
    action: { kind: 'change', number: detail.number, uri },
  }));
}

function shownPath(uri: string, paths: readonly string[]): string {
  let whole = uri;
  try {
    whole = decodeURIComponent(uri);
  } catch {
    // As it stands, then.
  }
  return paths.find((path) => whole.endsWith(`/${path}`)) ?? whole.slice(whole.lastIndexOf('/') + 1);
}

/** One line for each model in each role, with what all its calls took. */
function callLines(calls: readonly CallSummary[], language: Language): Line[] {
  const groups = new Map<string, CallSummary[]>();
  for (const call of calls) {
    const key = `${call.role} ${call.model}`;
    groups.set(key, [...(groups.get(key) ?? []), call]);
  }
  return [...groups.values()].map((group) => callLine(group, language));
}

function callLine(calls: readonly CallSummary[], language: Language): Line {
  const { t } = language;
  const [first] = calls;
  const role = first?.role === 'judge' ? t('judge') : t('worker');
  const tokens = calls.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0), 0);
  const prices = calls.flatMap(({ usage }) => (usage === null ? [] : [usage.usd]));
  const usd = prices.reduce<number | null>((sum, price) => (sum === null || price === null ? null : sum + price), 0);
  const failed = calls.filter((call) => call.error !== null).length;
  const facts = [
    calls.length === 1 ? t('1 call') : t('{0} calls', calls.length),
    t('{0} tokens', tokens),
    money(usd, language),
    ...(failed === 0 ? [] : [t('{0} failed', failed)]),
  ];
  return line(`${role}: ${first?.model ?? ''}`, facts.join(' · '), failed === 0 ? 'plain' : 'bad');
}

function bounded({ title, lines }: Section, { t }: Language): Section {
  const left = lines.length - MOST_LINES;
  return left <= 0
    ? { title, lines }
    : { title, lines: [...lines.slice(0, MOST_LINES), line(t('… and {0} more', left))] };
}

function line(text: string, note = '', tone: Line['tone'] = 'plain'): Line {
  return { lead: '', text, note, tone, action: undefined };
}

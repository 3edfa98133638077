import { baseName } from './documentUris';
import { fenced, node, oneLine, plain, withoutMarks, type Language, type RunAbout, type TreeNode } from './goalNodes';
import { requirementIcon, requirementStatus } from './phrases';
import type { Integrity, Location, Requirement, Snapshot } from './protocol';
import { isDisputable } from './snapshots';

/** One requirement of a goal: where it stands, and why, with the places and the evidence under it. */
export function requirementNode(snapshot: Snapshot, goalId: string, one: Requirement, language: Language): TreeNode {
  const { t } = language;
  const id = `${goalId}/requirement/${one.id}`;
  const name = `R${String(one.number)}`;
  const text = withoutMarks(one.text);
  const state = standing(one, language);
  const about = aboutOf(snapshot, { requirementId: one.id });
  const why = withoutMarks(one.reason);
  const reason = one.status === 'met' ? [] : [oneLine(why)].filter((line) => line !== '');
  return node({
    id,
    label: oneLine(text, 200),
    description: [state, ...reason].join(' · '),
    icon: requirementIcon(one),
    spoken: t('Requirement {0}, {1}: {2}. {3}', one.number, state, text, why),
    context: `requirement.${one.status}${isDisputable(snapshot, one) ? '.disputable' : ''}`,
    about,
    tooltip: () => requirementTooltip(one, `${state} · ${name}`, language),
    children: [
      ...reasonNodes(id, one, about, language),
      ...one.locations.map((place, index) => locationNode(`${id}/place/${String(index)}`, place, about, language)),
      ...one.evidenceIds.map((evidenceId) => evidenceNode(id, evidenceId, about, language)),
    ],
  });
}

/** Status in words, with what makes it doubtful. */
function standing(one: Requirement, language: Language): string {
  const { t } = language;
  const notes = [requirementStatus(one.status, language)];
  if (one.renewing) {
    notes.push(t('being proven again'));
  }
  if (one.flaky) {
    notes.push(t('flaky'));
  }
  return notes.join(', ');
}

/** Where it stands and who says so, why, and what was observed. */
function requirementTooltip(one: Requirement, standing: string, language: Language): string {
  const { t } = language;
  const says = decider(one, language);
  const cited = one.evidenceIds.length === 0 ? '' : t('Evidence: {0}', one.evidenceIds.join(', '));
  const parts = [
    `**${plain(standing)}**${says === '' ? '' : ` · ${plain(says)}`}`,
    plain(one.text.replaceAll('`', '')),
    plain(one.reason.replaceAll('`', '')),
    ...one.locations.map((place) => place.message).filter((message) => message !== '').slice(0, 3).map((message) => fenced(message)),
    plain(cited),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function decider(one: Requirement, language: Language): string {
  const { t } = language;
  const words = { check: t('decided by a check'), judge: t('decided by the judge'), person: t('decided by a person') };
  const worth = one.status === 'met' ? grade(one, language) : undefined;
  return [one.decidedBy === null ? undefined : words[one.decidedBy], worth].filter((part) => part !== undefined).join(' · ');
}

/** What a proof is worth, where that says more than who decided. */
function grade(one: Requirement, { t }: Language): string | undefined {
  switch (one.grade) {
    case 'own':
      return t('proven by your own proof');
    case 'worker':
      return t('proven by what the worker wrote, which fails without the work');
    case 'untried':
      return t('passes, and could not be tried');
    default:
      return undefined;
  }
}

function reasonNodes(id: string, one: Requirement, about: RunAbout, language: Language): TreeNode[] {
  const { t } = language;
  if (one.reason === '') {
    return [];
  }
  const description = decider(one, language);
  return [
    node({
      id: `${id}/reason`,
      label: oneLine(withoutMarks(one.reason), 400),
      description,
      icon: { name: 'comment' },
      spoken: t('Reason: {0}. {1}', withoutMarks(one.reason), description),
      about,
      tooltip: () => plain(one.reason),
    }),
  ];
}

function locationNode(id: string, place: Location, about: RunAbout, { t }: Language): TreeNode {
  const line = place.range.start.line + 1;
  const name = baseName(place.uri);
  return node({
    id,
    label: `${name}:${String(line)}`,
    description: oneLine(place.message),
    icon: { name: 'location' },
    spoken: t('{0}, line {1}: {2}', name, line, place.message),
    about,
    click: { kind: 'place', uri: place.uri, range: place.range },
    tooltip: () => (place.message === '' ? plain(name) : fenced(place.message)),
  });
}

function evidenceNode(id: string, evidenceId: string, about: RunAbout, { t }: Language): TreeNode {
  return node({
    id: `${id}/evidence/${evidenceId}`,
    label: t('Evidence {0}', evidenceId),
    icon: { name: 'output' },
    context: 'evidence',
    about: { ...about, evidenceId },
    click: { kind: 'evidence', runId: about.runId, evidenceId },
    tooltip: () => plain(t('Evidence is what Done When observed itself. Click to read all of it.')),
  });
}

/** What tampers with the proof: open findings keep a goal from being complete. */
export function findingNode(snapshot: Snapshot, goalId: string, one: Integrity, { t }: Language): TreeNode {
  const kind = one.kind.replaceAll('_', ' ');
  const state = one.accepted ? t('accepted: {0}', one.reason) : t('not accepted');
  return node({
    id: `${goalId}/finding/${one.id}`,
    label: `${one.id} ${oneLine(one.message, 200)}`,
    description: one.accepted ? `${kind} · ${state}` : kind,
    icon: one.accepted ? { name: 'shield' } : { name: 'shield', color: 'testing.iconFailed' },
    spoken: t('Integrity finding {0}, {1}, {2}: {3}', one.id, kind, state, one.message),
    context: one.accepted ? 'finding.accepted' : 'finding.open',
    about: aboutOf(snapshot, { findingId: one.id }),
    click: { kind: 'place', uri: one.uri, range: one.range },
    tooltip: () => `**${plain(kind)}** · ${plain(state)}\n\n${plain(one.message)}`,
  });
}

/** The fields of a node about a run, and about what in it. */
export function aboutOf(snapshot: Snapshot, more: Omit<RunAbout, 'runId' | 'goalUri'> = {}): RunAbout {
  const goal = snapshot.goalUri === null ? {} : { goalUri: snapshot.goalUri };
  return { runId: snapshot.runId, ...goal, ...more };
}

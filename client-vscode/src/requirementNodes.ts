import { fenced, node, oneLine, plain, withoutMarks, type Language, type TreeNode } from './goalNodes';
import { requirementIcon, requirementStatus } from './phrases';
import type { Integrity, Location, Requirement, Snapshot } from './protocol';

/** One requirement of a goal: where it stands, and why, with the places and the evidence under it. */
export function requirementNode(snapshot: Snapshot, goalId: string, one: Requirement, language: Language): TreeNode {
  const { t } = language;
  const id = `${goalId}/requirement/${one.id}`;
  const text = withoutMarks(one.text);
  const label = `R${String(one.number)} ${oneLine(text, 200)}`;
  const state = standing(one, language);
  const about = aboutOf(snapshot, { requirementId: one.id });
  const why = withoutMarks(one.reason);
  const reason = one.status === 'met' ? '' : oneLine(why);
  return node({
    id,
    label,
    description: reason === '' ? state : `${state} · ${reason}`,
    icon: requirementIcon(one),
    spoken: t('Requirement {0}, {1}: {2}. {3}', one.number, state, text, why),
    context: `requirement.${one.status}`,
    about,
    tooltip: () => `**${plain(label)}**\n\n${plain(state)}\n\n${plain(one.reason)}`,
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

function reasonNodes(id: string, one: Requirement, about: TreeNode['about'], { t }: Language): TreeNode[] {
  if (one.reason === '') {
    return [];
  }
  const deciders: Readonly<Record<string, string>> = {
    check: t('says a check'),
    judge: t('says the judge'),
    person: t('says a person'),
  };
  const description = one.decidedBy === null ? '' : (deciders[one.decidedBy] ?? '');
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

function locationNode(id: string, place: Location, about: TreeNode['about'], { t }: Language): TreeNode {
  const line = place.range.start.line + 1;
  const name = decodeURIComponent(place.uri.slice(place.uri.lastIndexOf('/') + 1));
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

function evidenceNode(id: string, evidenceId: string, about: TreeNode['about'], { t }: Language): TreeNode {
  return node({
    id: `${id}/evidence/${evidenceId}`,
    label: t('Evidence {0}', evidenceId),
    icon: { name: 'output' },
    context: 'evidence',
    about: { ...about, evidenceId },
    click: { kind: 'evidence', runId: about.runId, evidenceId },
    tooltip: () => plain(t('What the server observed itself: open it in full')),
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
export function aboutOf(snapshot: Snapshot, more: Omit<TreeNode['about'], 'runId' | 'goalUri'> = {}): TreeNode['about'] {
  const goal = snapshot.goalUri === null ? {} : { goalUri: snapshot.goalUri };
  return { runId: snapshot.runId, ...goal, ...more };
}

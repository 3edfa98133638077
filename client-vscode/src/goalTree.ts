import { fenced, node, oneLine, plain, withoutMarks, type Language, type TreeNode } from './goalNodes';
import { iterationsNode } from './iterationNodes';
import { phaseName, runIcon, runStatus, spent, tally, turn } from './phrases';
import { context } from './askedText';
import { type Choice, choicesOf } from './interruptChoices';
import type { Interrupt, Iteration, Snapshot } from './protocol';
import { aboutOf, findingNode, requirementNode } from './requirementNodes';
import { canGoOn, goalKey, isGuarded, needsModelSupport, pursuit } from './snapshots';
import { duration } from './statusText';

/** A goal file that nothing was done about yet. */
export interface GoalFile {
  readonly uri: string;
  readonly title: string;
}

/** What the tree shows besides the snapshots. */
export interface Surroundings {
  readonly files: readonly GoalFile[];
  readonly language: Language;
  /** The name of a goal's workspace folder, where there are several. */
  readonly folderName: (goalUri: string) => string | undefined;
  /** What was asked for of a run's earlier iterations. */
  readonly earlier: (runId: string) => readonly Iteration[];
}

/** The roots of the view: what waits for a person, then each goal once: unfinished ones, others, those not begun. */
export function goalTree(snapshots: readonly Snapshot[], around: Surroundings): TreeNode[] {
  const asked = snapshots.flatMap((snapshot) =>
    snapshot.interrupts.map((one) => interruptNode(snapshot, one, around.language)),
  );
  const runs = shownRuns(snapshots);
  return [
    ...asked,
    ...[...runs.filter(unfinished), ...runs.filter((one) => !unfinished(one))].map((one) =>
      goalNode(one, pursuit(one, snapshots), around),
    ),
    ...around.files.map((file) => fileNode(file, around)),
  ];
}

function fileNode({ uri, title }: GoalFile, { language, folderName }: Surroundings): TreeNode {
  const state = language.t('not started');
  const folder = folderName(uri);
  return node({
    // Another id than the goal's when it is pursued: that one opens by itself, which a known row would not.
    id: `file/${uri}`,
    label: title,
    description: [...(folder === undefined ? [] : [folder]), state].join(' · '),
    icon: { name: 'target' },
    spoken: language.t('Goal {0}: {1}', title, state),
    context: 'goal.new',
    about: { goalUri: uri },
    click: { kind: 'goal', goalUri: uri },
    tooltip: () => `**${plain(title)}** · ${plain(state)}`,
  });
}

/** One snapshot for each goal: its unfinished run, else the newest. `snapshots` are newest first. */
export function shownRuns(snapshots: readonly Snapshot[]): Snapshot[] {
  const shown = new Map<string, Snapshot>();
  for (const snapshot of snapshots) {
    const key = goalKey(snapshot);
    const known = shown.get(key);
    if (known === undefined || (unfinished(snapshot) && !unfinished(known))) {
      shown.set(key, snapshot);
    }
  }
  return [...shown.values()];
}

function unfinished({ status }: Snapshot): boolean {
  return status === 'running' || status === 'waiting' || status === 'paused' || status === 'interrupted';
}

function goalNode(snapshot: Snapshot, run: Snapshot, around: Surroundings): TreeNode {
  const { language } = around;
  const { counts } = snapshot;
  const title = withoutMarks(snapshot.title);
  const id = `goal/${goalKey(snapshot)}`;
  const state = runStatus(snapshot.status, language);
  const folder = snapshot.goalUri === null ? undefined : around.folderName(snapshot.goalUri);
  const waived = counts.waived === 0 ? '' : language.t('{0} waived', counts.waived);
  const facts = [folder ?? '', waived, state, turn(snapshot, language)];
  const said = [state, tally(counts, language), turn(snapshot, language), folder ?? ''];
  return node({
    id,
    // What is proven comes first: a narrow side bar cuts the rest.
    label: `${String(counts.met)}/${String(counts.total)} ${title}`,
    description: facts.filter((one) => one !== '').join(' · '),
    icon: runIcon(snapshot),
    spoken: language.t('Goal {0}: {1}', title, said.filter((one) => one !== '').join(', ')),
    context: `goal.${snapshot.status ?? (canGoOn(run) ? 'checked.resumable' : 'checked')}${isGuarded(snapshot) ? '.guarded' : ''}${needsModelSupport(run) ? '.modelless' : ''}`,
    opens: 'expanded',
    about: aboutOf(snapshot),
    tooltip: () => goalTooltip(snapshot, state, language),
    children: [
      ...activityNodes(snapshot, id, language),
      ...snapshot.integrity.map((one) => findingNode(snapshot, id, one, language)),
      ...snapshot.requirements.map((one) => requirementNode(snapshot, id, one, language)),
      ...[iterationsNode(run, around.earlier(run.runId), language)].filter((one) => one !== undefined),
    ],
  });
}

/** What it does now, or why it stands still: a line of its own, so that no more is drawn again when it changes. */
function activityNodes(snapshot: Snapshot, id: string, language: Language): TreeNode[] {
  const about = aboutOf(snapshot);
  const text = snapshot.halt?.reason ?? (snapshot.status === 'running' ? snapshot.activity : snapshot.reason);
  if (text === null || text === '') {
    return [];
  }
  const description = phaseName(snapshot, language);
  const icon = { name: snapshot.status === 'running' ? 'pulse' : 'info' };
  return [node({ id: `${id}/activity`, label: oneLine(text, 300), description, icon, about, tooltip: () => plain(text) })];
}

function goalTooltip(snapshot: Snapshot, state: string, language: Language): string {
  const counts = tally(snapshot.counts, language);
  const facts = [state, counts, ...spent(snapshot.cost.usd, language), duration(snapshot.elapsedSeconds)];
  const parts = [`**${plain(snapshot.title)}** · ${facts.map(plain).join(' · ')}`, plain(snapshot.objective)];
  if (snapshot.reason !== '') {
    parts.push(plain(snapshot.reason));
  }
  if (snapshot.missing !== '') {
    parts.push(plain(language.t('Remaining: {0}', snapshot.missing)));
  }
  parts.push(...snapshot.warnings.map((one) => `$(warning) ${plain(one.message)}`));
  return parts.filter((one) => one !== '').join('\n\n');
}

function interruptNode(snapshot: Snapshot, one: Interrupt, { t }: Language): TreeNode {
  return node({
    id: `interrupt/${snapshot.runId}/${one.id}`,
    label: oneLine(withoutMarks(one.title), 200),
    description: oneLine(one.preview === '' ? snapshot.title : one.preview),
    icon: { name: one.kind === 'approval' ? 'shield' : 'question', color: 'list.warningForeground' },
    spoken: t('{0} asks: {1}. {2}', snapshot.title, one.title, one.preview),
    context: `interrupt.${interruptKind(one)}`,
    about: aboutOf(snapshot, { interruptId: one.id }),
    click: { kind: 'interrupt', runId: snapshot.runId, interruptId: one.id },
    tooltip: () => askedTooltip(snapshot, one, t),
    opens: 'expanded',
    children: choiceNodes(snapshot, one, t),
  });
}

function askedTooltip(snapshot: Snapshot, one: Interrupt, t: Language['t']): string {
  const preview = one.preview === '' ? [] : [fenced(one.preview)];
  return [`**${plain(one.title)}**`, plain(snapshot.title), ...preview, ...context(one, t).map(plain)].join('\n\n');
}

/** What can be answered with one click, under the question; what takes words or an edit is asked for in full. */
function choiceNodes(snapshot: Snapshot, one: Interrupt, t: Language['t']): TreeNode[] {
  const choices = choicesOf(one, t);
  const about = aboutOf(snapshot, { interruptId: one.id });
  const under = `interrupt/${snapshot.runId}/${one.id}`;
  const chosen = (choice: Choice, index: number): TreeNode =>
    node({
      id: `${under}/${String(index)}`,
      label: choice.label,
      description: choice.detail ?? '',
      icon: { name: index === 0 ? 'check' : 'circle-small' },
      about,
      click: { kind: 'choice', runId: snapshot.runId, interruptId: one.id, choice: choice.label },
    });
  const words = node({
    id: `${under}/more`,
    label: choices.open ? t('Answer…') : t('More…'),
    icon: { name: 'comment' },
    about,
    click: { kind: 'words', runId: snapshot.runId, interruptId: one.id },
  });
  const buttons = (choices.open ? [] : choices.all).map(chosen);
  return choices.open || choices.edits || choices.text ? [...buttons, words] : buttons;
}

/**
 * Which answers it takes: `start` and `choice` are approved or denied, `approval` with an edited input too. `question` takes
 * words, or has a yes and a no of its own, such as to discard what a person wrote: it is asked in full.
 */
function interruptKind({ kind, about, tool }: Interrupt): 'start' | 'approval' | 'choice' | 'question' {
  if (about === 'start') {
    return 'start';
  }
  if (kind === 'approval') {
    return tool === null ? 'choice' : 'approval';
  }
  return 'question';
}

import { fenced, node, oneLine, plain, type Language, type TreeNode } from './goalNodes';
import { iterationsNode } from './iterationNodes';
import { runIcon, runStatus, spent, tally } from './phrases';
import type { Interrupt, Iteration, Snapshot } from './protocol';
import { aboutOf, findingNode, requirementNode } from './requirementNodes';
import { duration } from './statusText';

/** What the tree shows besides the snapshots. */
export interface Surroundings {
  readonly language: Language;
  /** The name of a goal's workspace folder, where there are several. */
  readonly folderName: (goalUri: string) => string | undefined;
  /** What was asked for of a run's earlier iterations. */
  readonly earlier: (runId: string) => readonly Iteration[];
}

/** The roots of the view: what waits for a person first, then each goal once. */
export function goalTree(snapshots: readonly Snapshot[], around: Surroundings): TreeNode[] {
  const asked = snapshots.flatMap((snapshot) =>
    snapshot.interrupts.map((one) => interruptNode(snapshot, one, around.language)),
  );
  return [...asked, ...shownRuns(snapshots).map((snapshot) => goalNode(snapshot, around))];
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

function goalKey(snapshot: Snapshot): string {
  return snapshot.goalUri ?? `run:${snapshot.runId}`;
}

function goalNode(snapshot: Snapshot, around: Surroundings): TreeNode {
  const { language } = around;
  const id = `goal/${goalKey(snapshot)}`;
  const state = runStatus(snapshot.status, language);
  const facts = [progress(snapshot), tally(snapshot.counts, language), state].filter((one) => one !== '');
  const folder = snapshot.goalUri === null ? undefined : around.folderName(snapshot.goalUri);
  return node({
    id,
    label: snapshot.title,
    description: [...facts, ...(folder === undefined ? [] : [folder])].join(' · '),
    icon: runIcon(snapshot),
    spoken: language.t('Goal {0}: {1}', snapshot.title, facts.join(', ')),
    context: `goal.${snapshot.status ?? 'checked'}`,
    opens: 'expanded',
    about: aboutOf(snapshot),
    tooltip: () => goalTooltip(snapshot, state, language),
    children: [
      ...activityNodes(snapshot, id, language),
      ...snapshot.integrity.map((one) => findingNode(snapshot, id, one, language)),
      ...snapshot.requirements.map((one) => requirementNode(snapshot, id, one, language)),
      ...[iterationsNode(snapshot, around.earlier(snapshot.runId), language)].filter((one) => one !== undefined),
    ],
  });
}

/** What it does now, or why it stands still: a line of its own, so that no more is drawn again when it changes. */
function activityNodes(snapshot: Snapshot, id: string, { t }: Language): TreeNode[] {
  const about = aboutOf(snapshot);
  const text = snapshot.halt?.reason ?? (snapshot.status === 'running' ? snapshot.activity : snapshot.reason);
  if (text === null || text === '') {
    return [];
  }
  const phases: Readonly<Record<string, string>> = {
    working: t('working'),
    checking: t('checking'),
    judging: t('judging'),
  };
  const description = snapshot.phase === null ? '' : (phases[snapshot.phase] ?? snapshot.phase);
  const icon = { name: snapshot.status === 'running' ? 'pulse' : 'info' };
  return [node({ id: `${id}/activity`, label: oneLine(text, 300), description, icon, about, tooltip: () => plain(text) })];
}

/** `3/10`, or `3` without a limit; empty before the first iteration. */
function progress({ iteration, maxIterations }: Snapshot): string {
  if (iteration === 0) {
    return '';
  }
  return maxIterations === null ? String(iteration) : `${String(iteration)}/${String(maxIterations)}`;
}

function goalTooltip(snapshot: Snapshot, state: string, language: Language): string {
  const facts = [state, ...spent(snapshot.cost.usd, language), duration(snapshot.elapsedSeconds)];
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
    label: oneLine(one.title, 200),
    description: oneLine(one.preview === '' ? snapshot.title : one.preview),
    icon: { name: one.kind === 'approval' ? 'shield' : 'question', color: 'list.warningForeground' },
    spoken: t('{0} asks: {1}. {2}', snapshot.title, one.title, one.preview),
    context: `interrupt.${interruptKind(one)}`,
    about: aboutOf(snapshot, { interruptId: one.id }),
    click: { kind: 'interrupt', runId: snapshot.runId, interruptId: one.id },
    tooltip: () => [`**${plain(one.title)}**`, plain(snapshot.title), fenced(one.preview)].join('\n\n'),
  });
}

/** Which answers it takes: `start` and `choice` yes or no, `approval` an edited input too, `question` words. */
function interruptKind({ kind, about, tool }: Interrupt): 'start' | 'approval' | 'choice' | 'question' {
  if (about === 'start') {
    return 'start';
  }
  if (kind === 'approval') {
    return tool === null ? 'choice' : 'approval';
  }
  return /^(?:requirement:|claim:(?:blocked|impossible)$|restore$)/u.test(about) ? 'choice' : 'question';
}

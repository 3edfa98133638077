import type { Snapshot } from './protocol';
import type { ServerState } from './services';
import { canGoOn, isActive, isAsking, isGuardable, isGuarded, needsModelSupport } from './snapshots';

export interface Circumstances {
  readonly trusted: boolean;
  readonly server: ServerState;
  /** Whether there is a goal file. */
  readonly goals: boolean;
  /** Whether another run than the one that is shown waits for a person. */
  readonly asksElsewhere: boolean;
  /** The run that the one that is shown is a check of since. */
  readonly pursuit?: Snapshot | undefined;
}

/** The commands that make sense now, the likeliest first. */
export function possibleActions(run: Snapshot | undefined, now: Circumstances): readonly string[] {
  if (now.server === 'failed') {
    return ['donewhen.showLogs'];
  }
  const trust = now.trusted ? [] : ['workbench.trust.manage'];
  const found = run === undefined ? withoutRun(now.goals) : withRun(run, now.pursuit ?? run);
  const answer = now.asksElsewhere ? ['donewhen.answer'] : [];
  const allowed = [...answer, ...found].filter((command) => now.trusted || !EXECUTING.has(command));
  return [...trust, ...allowed, 'donewhen.setGoal', 'donewhen.showLogs'];
}

const EXECUTING: ReadonlySet<string> = new Set([
  'donewhen.answer',
  'donewhen.start',
  'donewhen.checkNow',
  'donewhen.resume',
  'donewhen.guard',
  'donewhen.revertToIteration',
]);

function withoutRun(goals: boolean): readonly string[] {
  return goals ? ['donewhen.start', 'donewhen.checkNow'] : [];
}

function withRun(run: Snapshot, pursued: Snapshot): string[] {
  return [
    ...(isAsking(run) ? ['donewhen.answer'] : []),
    ...steering(pursued),
    ...(isGuarded(pursued) ? ['donewhen.liftGuard'] : isGuardable(pursued) ? ['donewhen.guard'] : []),
    ...(run.goalUri === null ? [] : ['donewhen.openGoal']),
    'donewhen.report',
    'donewhen.showTimeline',
    ...(pursued.iterations.length > 0 ? ['donewhen.revertToIteration'] : []),
    ...(run.counts.unmet + run.counts.unverified + run.counts.stale > 0 ? ['donewhen.waive'] : []),
  ];
}

function steering(run: Snapshot): readonly string[] {
  const goal = run.goalUri === null ? [] : ['donewhen.checkNow'];
  if (isActive(run) && run.halt === null) {
    return [...goal, 'donewhen.pause', 'donewhen.stop'];
  }
  if (canGoOn(run)) {
    const ended = run.status !== 'paused' && run.status !== 'interrupted' && run.halt === null;
    const install = needsModelSupport(run) ? ['donewhen.installModels'] : [];
    return [...install, 'donewhen.resume', ...goal, ended ? 'donewhen.start' : 'donewhen.stop'];
  }
  return [...finishing(run), ...(run.goalUri === null ? [] : ['donewhen.start', 'donewhen.checkNow'])];
}

function finishing({ status }: Snapshot): readonly string[] {
  return status === 'complete' ? ['donewhen.reviewChanges', 'donewhen.commit', 'donewhen.copyReceipt'] : [];
}

import type { Requirement, Snapshot } from './protocol';
import type { Disposable, Snapshots } from './services';

type Listener = (runId: string | undefined) => void;

/** The newest snapshot of each run, by `sequence`, in the order in which the runs were begun, or went on. */
export class SnapshotStore implements Snapshots {
  private runs = new Map<string, Snapshot>();
  /** What a server before said: shown until the one of now has told what there is. */
  private former = new Set<string>();
  private readonly listeners = new Set<Listener>();

  /** `written`: a uri as the editor writes it, since the server may escape it otherwise. */
  constructor(private readonly written: (uri: string) => string = (uri) => uri) {}

  /** Another server says anew what there is. */
  begin(): void {
    this.former = new Set(this.runs.keys());
  }

  /** A snapshot that was sent: a run that is not known yet is the newest. */
  take(snapshot: Snapshot): void {
    const { runId, sequence } = snapshot;
    const known = this.runs.get(runId);
    if (known !== undefined && known.sequence > sequence && !this.former.has(runId)) {
      return;
    }
    this.former.delete(runId);
    if (known !== undefined && known.sequence < sequence && known.status !== null && !isActive(known)) {
      this.runs.delete(runId); // It went on, or a person decided: what was checked in between is older news.
    }
    this.runs.set(runId, this.ours(snapshot));
    this.tell(runId);
  }

  /** The runs that the server knows of, newest first; what it sent meanwhile stays where it is newer. */
  replace(newestFirst: readonly Snapshot[]): void {
    const listed = new Map([...newestFirst].reverse().map((snapshot) => [snapshot.runId, this.ours(snapshot)]));
    for (const [runId, known] of this.runs) {
      const said = listed.get(runId);
      if (!this.former.has(runId) && (said === undefined || known.sequence > said.sequence)) {
        listed.set(runId, known);
      }
    }
    this.former.clear();
    this.runs = listed;
    this.tell(undefined);
  }

  all(): readonly Snapshot[] {
    return [...this.runs.values()].reverse();
  }

  get(runId: string): Snapshot | undefined {
    return this.runs.get(runId);
  }

  ofGoal(goalUri: string): Snapshot | undefined {
    return this.all().find((snapshot) => snapshot.goalUri === goalUri);
  }

  onDidChange(listener: Listener): Disposable {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  }

  private ours(snapshot: Snapshot): Snapshot {
    return snapshot.goalUri === null ? snapshot : { ...snapshot, goalUri: this.written(snapshot.goalUri) };
  }

  private tell(runId: string | undefined): void {
    for (const listener of [...this.listeners]) {
      listener(runId);
    }
  }
}

/** A run that goes on, or may. */
export function isActive(snapshot: Snapshot): boolean {
  return snapshot.status === 'running' || snapshot.status === 'waiting';
}

export function isResumable(snapshot: Snapshot): boolean {
  return snapshot.status === 'paused' || snapshot.status === 'interrupted' || isHalted(snapshot);
}

/** A plugin stopped it, and may let it go on. */
export function isHalted(snapshot: Snapshot): boolean {
  return snapshot.status === 'waiting' && snapshot.halt?.resumable === true;
}

/** A person may answer: also while nobody goes on with the run. */
export function isAsking(snapshot: Snapshot): boolean {
  return snapshot.interrupts.length > 0 && (isActive(snapshot) || isResumable(snapshot));
}

const LIMITED: ReadonlySet<string> = new Set(['capped', 'timed_out', 'over_budget', 'stalled', 'blocked', 'crashed']);

/** A judge can be asked again about it. */
export function isDisputable(run: Snapshot, one: Requirement): boolean {
  return run.judge !== null && (one.decidedBy === 'judge' || one.status === 'unmet');
}

/** The pursuit that a check since belongs to: a check has no iterations of its own, and nothing to go on with. */
export function pursuit(shown: Snapshot, newestFirst: readonly Snapshot[]): Snapshot {
  const same = (one: Snapshot): boolean => one.status !== null && goalKey(one) === goalKey(shown);
  return shown.status === null ? (newestFirst.find(same) ?? shown) : shown;
}

/** Runs and checks of one goal have it in common. */
export function goalKey(snapshot: Snapshot): string {
  return snapshot.goalUri ?? `run:${snapshot.runId}`;
}

/** It waits to be resumed, or ended in a way that a person can lift. */
export function canGoOn(snapshot: Snapshot): boolean {
  return isResumable(snapshot) || LIMITED.has(snapshot.status ?? '');
}

/** Its proofs can be kept on guard: they are made again after each edit. */
export function isGuardable(snapshot: Snapshot): boolean {
  return snapshot.status === 'complete' && snapshot.goalUri !== null && snapshot.guard === null;
}

export function isGuarded(snapshot: Snapshot): boolean {
  return snapshot.guard !== null;
}

/** The worker, a check or a judge is at it: not while a person is waited for. */
export function isWorking(snapshot: Snapshot): boolean {
  if (snapshot.status !== 'running') {
    return false;
  }
  return snapshot.phase === 'checking' || snapshot.phase === 'judging' || snapshot.worker !== 'human';
}

/**
 * Of the snapshots, newest first, the one that a person wants to see: the one in the folder that they look at, else one
 * elsewhere. In the folder, what waits for them comes first, then what runs, then the goal that they look at.
 */
export function mostRelevant(
  newestFirst: readonly Snapshot[],
  folderUri?: string,
  goal?: Snapshot,
): Snapshot | undefined {
  const here = newestFirst.filter((one) => folderUri !== undefined && isIn(one.goalUri, folderUri));
  return (
    here.find(asks) ??
    here.find(isActive) ??
    goal ??
    here[0] ??
    newestFirst.find(asks) ??
    newestFirst.find(isActive) ??
    newestFirst[0]
  );
}

/** A run that waits for a person while another one is shown, which does not. */
export function asksElsewhere(newestFirst: readonly Snapshot[], shown: Snapshot): Snapshot | undefined {
  return isAsking(shown) ? undefined : newestFirst.find(asks);
}

/** It goes on once a person has answered. */
function asks(snapshot: Snapshot): boolean {
  return snapshot.interrupts.length > 0 && isActive(snapshot);
}

function isIn(uri: string | null, folderUri: string): boolean {
  return uri?.startsWith(folderUri.endsWith('/') ? folderUri : `${folderUri}/`) ?? false;
}

/** Whether a run stands because what calls models is not installed where the server runs. */
export function needsModelSupport(run: Snapshot): boolean {
  return canGoOn(run) && lacksModelSupport(run.reason);
}

/** The server names what would have to be installed. */
export function lacksModelSupport(message: string): boolean {
  return message.includes('donewhen[models]');
}

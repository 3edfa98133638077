import type { SentSnapshot, Snapshot } from './protocol';

type Listener = (runId: string | undefined) => void;

/** The newest snapshot of each run, by `sequence`, in the order in which the runs were begun, or went on. */
export class SnapshotStore {
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
    if (known !== undefined && known.sequence < sequence && known.status !== null && !known.view.active) {
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

  /** Newest run first. */
  all(): readonly Snapshot[] {
    return [...this.runs.values()].reverse();
  }

  get(runId: string): Snapshot | undefined {
    return this.runs.get(runId);
  }

  /** The newest run or check of a goal file. */
  ofGoal(goalUri: string): Snapshot | undefined {
    return this.all().find((snapshot) => snapshot.goalUri === goalUri);
  }

  /** Told of each change, with the run that changed; undefined where all were replaced. */
  onDidChange(listener: Listener): { dispose(): void } {
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

/** A snapshot that was sent, with the requirements that are as they were in the one before. */
export function completed(sent: SentSnapshot, before: Snapshot | undefined): Snapshot {
  const filled = <T>(now: readonly (T | null)[], then: readonly T[] = []): T[] => now.flatMap((one, at) => one ?? then[at] ?? []);
  // A server that is older than the extension gives none.
  const notices = (sent.view as Partial<typeof sent.view>).notices ?? [];
  const view = { ...sent.view, notices, requirements: filled(sent.view.requirements, before?.view.requirements) };
  return { ...sent, requirements: filled(sent.requirements, before?.requirements), view };
}

/** Which runs a command is for: it is offered, by `when` clauses that ask for this name, where there is one. */
export const FITTING = {
  runs: () => true,
  active: ({ view }) => view.active,
  resumable: ({ view }) => view.goesOn,
  takeOver: ({ takeOver }) => takeOver,
  guardable: ({ view }) => view.guardable,
  complete: ({ status }) => status === 'complete',
  guarded: ({ guard }) => guard !== null,
  judged: ({ judge }) => judge !== null,
  asks: ({ view }) => view.asking,
} satisfies Readonly<Record<string, (run: Snapshot) => boolean>>;

/** One snapshot for each goal: its unfinished run, else the newest. */
export function shownRuns(newestFirst: readonly Snapshot[]): Snapshot[] {
  const shown = new Map<string, Snapshot>();
  for (const snapshot of newestFirst) {
    const known = shown.get(snapshot.view.goal);
    if (known === undefined || (snapshot.view.unfinished && !known.view.unfinished)) {
      shown.set(snapshot.view.goal, snapshot);
    }
  }
  return [...shown.values()];
}

/** The pursuit that a check since belongs to: a check has no iterations of its own, and nothing to go on with. */
export function pursuit(shown: Snapshot, newestFirst: readonly Snapshot[]): Snapshot {
  const same = (one: Snapshot): boolean => one.status !== null && one.view.goal === shown.view.goal;
  return shown.status === null ? (newestFirst.find(same) ?? shown) : shown;
}

/** What can be done: a check has nothing to go on with, the run that was checked has. What is open is as the check found it. */
export function actionsOf(shown: Snapshot, newestFirst: readonly Snapshot[]): string[] {
  const found = pursuit(shown, newestFirst).view.actions.filter((action) => action !== 'waive');
  return shown.view.actions.includes('waive') ? [...found, 'waive'] : found;
}

/**
 * Of the snapshots, newest first, the one that a person wants to see: the one in the folder that they look at, else one
 * elsewhere. In the folder, what waits for them comes first, then what runs, then the goal that they look at.
 */
export function mostRelevant(newestFirst: readonly Snapshot[], folderUri?: string, goal?: Snapshot): Snapshot | undefined {
  const here = newestFirst.filter((one) => folderUri !== undefined && isIn(one.goalUri, folderUri));
  const isActive = (one: Snapshot): boolean => one.view.active;
  return (
    here.find(asks) ?? here.find(isActive) ?? goal ?? here[0] ?? newestFirst.find(asks) ?? newestFirst.find(isActive) ?? newestFirst[0]
  );
}

/** Whether a run is in progress, which a restart of the server would interrupt. */
export function inProgress(runs: readonly Snapshot[]): boolean {
  return runs.some(({ view }) => view.active);
}

/** A run that waits for a person while another one is shown, which does not. */
export function asksElsewhere(newestFirst: readonly Snapshot[], shown: Snapshot): Snapshot | undefined {
  return shown.view.asking ? undefined : newestFirst.find(asks);
}

/** What the status bar shows of a run, and which other one waits for a person meanwhile. */
export function statusOf(shown: Snapshot, newestFirst: readonly Snapshot[]): { icon: string; text: string; other: Snapshot | undefined } {
  const { icon, text, elsewhere } = shown.view.status;
  const other = asksElsewhere(newestFirst, shown);
  return other === undefined ? { icon, text, other } : { icon: 'bell-dot', text: elsewhere, other };
}

/** It goes on once a person has answered. */
function asks({ interrupts, view }: Snapshot): boolean {
  return interrupts.length > 0 && view.active;
}

function isIn(uri: string | null, folderUri: string): boolean {
  return uri?.startsWith(folderUri.endsWith('/') ? folderUri : `${folderUri}/`) ?? false;
}

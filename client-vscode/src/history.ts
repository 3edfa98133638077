import type { Iteration, Snapshot } from './protocol';

/** The iterations that a snapshot no longer holds: asked for once, then completed by the snapshots that follow. */
export class History {
  private readonly known = new Map<string, Map<number, Iteration>>();
  private readonly loading = new Map<string, Promise<void>>();

  /** `fetch` gives all iterations of a run. */
  constructor(private readonly fetch: (runId: string) => Promise<readonly Iteration[]>) {}

  /** What is known of a run, in order; empty before it was loaded. */
  of(runId: string): readonly Iteration[] {
    return [...(this.known.get(runId)?.values() ?? [])].sort((one, other) => one.number - other.number);
  }

  /** Keeps the newest iterations of a run that was loaded: the next snapshots hold later ones. */
  remember(snapshot: Snapshot): void {
    const run = this.known.get(snapshot.runId);
    for (const iteration of run === undefined ? [] : snapshot.iterations) {
      run?.set(iteration.number, iteration);
    }
  }

  /** Asks for a run's iterations; several callers wait for the same answer. */
  async load(runId: string): Promise<void> {
    const underway = this.loading.get(runId) ?? this.loaded(runId);
    this.loading.set(runId, underway);
    try {
      await underway;
    } finally {
      this.loading.delete(runId);
    }
  }

  private async loaded(runId: string): Promise<void> {
    const iterations = await this.fetch(runId);
    this.known.set(runId, new Map(iterations.map((one) => [one.number, one])));
  }
}

/** The iterations of a run in order, each once: the snapshot's where it has them, else the earlier ones. */
export function allIterations(snapshot: Snapshot, earlier: readonly Iteration[]): Iteration[] {
  const first = snapshot.iterations[0]?.number ?? Infinity;
  return [...earlier.filter((one) => one.number < first), ...snapshot.iterations];
}

/** The iterations in a report as JSON, which is the snapshot with all of them; none where it is something else. */
export function reportedIterations(text: string): readonly Iteration[] {
  const report: unknown = JSON.parse(text);
  const found = typeof report === 'object' && report !== null && 'iterations' in report ? report.iterations : [];
  return Array.isArray(found) ? (found as readonly Iteration[]) : [];
}

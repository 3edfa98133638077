import type { Language } from '../src/goalNodes';
import type { Interrupt, Iteration, IterationDocument, Requirement, Snapshot } from '../src/protocol';

/** English as it is written. */
export const english: Language = {
  t: (message, ...values) => message.replace(/\{(\d+)\}/gu, (_, index) => String(values[Number(index)])),
};

const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, usd: 0 };

export function makeSnapshot(given: Partial<Snapshot> = {}): Snapshot {
  return {
    schemaVersion: 1,
    sequence: 1,
    runId: 'r1',
    goalUri: 'file:///w/GOAL.md',
    title: 'Export',
    objective: 'Export must handle quotes.',
    worker: 'agent',
    status: 'running',
    phase: 'working',
    activity: null,
    reason: '',
    iteration: 0,
    maxIterations: 10,
    elapsedSeconds: 41.2,
    revision: 'abc',
    score: 0,
    complete: false,
    missing: '',
    counts: { met: 0, unmet: 0, unverified: 0, stale: 0, waived: 0, total: 0, regressed: 0 },
    requirements: [],
    integrity: [],
    interrupts: [],
    halt: null,
    warnings: [],
    acts: [],
    cost: { usd: 0, worker: usage, judge: usage },
    limits: { maxIterations: 10, timeoutSeconds: null, budgetUsd: null, tokenBudget: null },
    iterationsTotal: 0,
    iterations: [],
    lastRevertible: null,
    model: null,
    judge: null,
    start: null,
    pausedBy: null,
    freshness: null,
    guard: null,
    baseline: null,
    sandbox: null,
    ...given,
  };
}

export function makeRequirement(number: number, given: Partial<Requirement> = {}): Requirement {
  return {
    id: `r-${String(number)}`,
    number,
    text: `requirement ${String(number)}`,
    status: 'unmet',
    flaky: false,
    reason: '2 tests failed',
    evidenceIds: [],
    decidedBy: 'check',
    grade: null,
    locations: [],
    renewing: false,
    regression: null,
    external: false,
    ...given,
  };
}

export function makeIteration(number: number, given: Partial<Iteration> = {}): Iteration {
  return {
    number,
    startedAt: '2026-01-01T00:00:00.000Z',
    seconds: 12,
    score: 0.4,
    met: 2,
    total: 5,
    usd: 0.04,
    revision: `rev${String(number)}`,
    changedFiles: [],
    summary: '',
    error: null,
    ...given,
  };
}

export function makeIterations(first: number, last: number): Iteration[] {
  return Array.from({ length: last - first + 1 }, (_, index) => makeIteration(first + index));
}

export function makeInterrupt(id: string, given: Partial<Interrupt> = {}): Interrupt {
  return {
    id,
    kind: 'approval',
    title: 'Run a command?',
    tool: 'run_command',
    input: { command: 'git push' },
    preview: 'git push',
    askedAt: '2026-01-01T00:00:00.000Z',
    about: 'tool:run_command',
    remembers: false,
    folder: '',
    said: '',
    before: '',
    ...given,
  };
}

export function makeDetail(given: Partial<IterationDocument> = {}): IterationDocument {
  return {
    runId: 'r1',
    number: 1,
    startedAt: '2026-01-01T00:00:00.000Z',
    seconds: 12,
    claim: { state: 'finished', text: '' },
    error: null,
    steps: [],
    checks: [],
    verdict: [],
    calls: [],
    changedFiles: [],
    ...given,
  };
}

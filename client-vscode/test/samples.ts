import type { Interrupt, Requirement, Snapshot } from '../src/protocol';

export function interrupt(given: Partial<Interrupt> = {}): Interrupt {
  return {
    id: 'I1',
    kind: 'approval',
    title: 'Run this command?',
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

export function requirement(given: Partial<Requirement> = {}): Requirement {
  return {
    id: 'r1',
    number: 1,
    text: '`pytest -q` passes',
    status: 'unmet',
    flaky: false,
    reason: '1 failed',
    evidenceIds: ['E1'],
    decidedBy: 'check',
    grade: null,
    locations: [],
    renewing: false,
    regression: null,
    external: false,
    ...given,
  };
}

const USAGE = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, usd: 0 };

export function snapshot(given: Partial<Snapshot> = {}): Snapshot {
  return {
    schemaVersion: 1,
    sequence: 1,
    runId: 'run-1',
    goalUri: 'file:///w/GOAL.md',
    title: 'Ship it',
    objective: 'Ship it',
    worker: 'agent',
    status: 'running',
    phase: 'working',
    activity: null,
    reason: '',
    iteration: 3,
    maxIterations: 10,
    elapsedSeconds: 41,
    revision: 'a',
    score: 0.4,
    complete: false,
    missing: '',
    counts: { met: 2, unmet: 2, unverified: 1, stale: 0, waived: 0, total: 5, regressed: 0 },
    requirements: [],
    integrity: [],
    interrupts: [],
    halt: null,
    warnings: [],
    acts: [],
    cost: { usd: 0, worker: USAGE, judge: USAGE },
    limits: { maxIterations: 10, timeoutSeconds: 3600, budgetUsd: null, tokenBudget: null },
    iterationsTotal: 3,
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

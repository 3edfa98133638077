import type { Asked, Choice, Interrupt, Node, Notice, Requirement, Row, Snapshot, View } from '../src/protocol';

export function interrupt(given: Partial<Interrupt> = {}): Interrupt {
  return {
    id: 'I1',
    title: 'Run this command?',
    input: { command: 'git push' },
    preview: 'git push',
    askedAt: '2026-01-01T00:00:00.000Z',
    about: 'tool:run_command',
    ...given,
  };
}

export function choice(label: string, response: Choice['response']): Choice {
  return { label, detail: '', response, remember: null, instead: null, text: '' };
}

/** How an interrupt of this id is asked. */
export function asked(id: string, given: Partial<Asked> = {}): Asked {
  return {
    id,
    title: 'Run this command?',
    context: [],
    choices: [choice('Approve', 'approve'), choice('Deny', 'deny')],
    listed: [0, 1],
    edits: 'command',
    words: false,
    open: false,
    extension: 'sh',
    path: null,
    node: node(id),
    ...given,
  };
}

export function notice(key: string, given: Partial<Notice> = {}): Notice {
  return { key, when: 'asked', kind: 'question', at: '2026-01-01T00:00:00.000Z', message: key, buttons: [], ...given };
}

export function requirement(id: string, status: Requirement['status'] = 'unmet'): Requirement {
  return {
    id,
    number: 1,
    text: id,
    status,
    evidenceIds: [],
    locations: [],
  };
}

export function node(id: string, given: Partial<Node> = {}): Node {
  return {
    id,
    label: id,
    description: '',
    icon: '',
    color: '',
    spoken: id,
    context: '',
    opens: 'never',
    about: {},
    click: null,
    tooltip: '',
    later: 0,
    version: '',
    children: [],
    ...given,
  };
}

export function row(number: number, given: Partial<Row> = {}): Row {
  return {
    number,
    label: `Iteration ${number}`,
    facts: '2 of 5 met',
    summary: '',
    point: '40 % · 2 of 5 met',
    score: 0.4,
    usd: 0.04,
    tone: 'plain',
    version: '',
    ...given,
  };
}

function viewOf(goal: string, status: string | null, given: Partial<View>): View {
  return {
    goal,
    title: 'Ship it',
    state: status ?? 'checked',
    repairs: [],
    tally: '2 of 5 met',
    status: { icon: 'target', text: 'Goal', elsewhere: 'Goal · waiting for you', tooltip: '', spoken: '' },
    active: status === 'running' || status === 'waiting',
    asking: false,
    goesOn: status === 'capped' || status === 'paused',
    unfinished: status === 'running' || status === 'waiting' || status === 'paused' || status === 'interrupted',
    guardable: false,
    hintable: true,
    raises: null,
    actions: [],
    node: node(`goal/${goal}`, { context: `goal.${status ?? 'checked'}` }),
    iterations: null,
    timeline: { facts: '', activity: '', chart: '', news: '', before: null, rows: [], underWay: null },
    requirements: [],
    asked: [],
    notices: [],
    ...given,
  };
}

type Given = Omit<Partial<Snapshot>, 'view'> & { readonly view?: Partial<View> };

export function snapshot({ view = {}, ...given }: Given = {}): Snapshot {
  const { goalUri = 'file:///w/GOAL.md', runId = 'run-1', status = 'running' } = given;
  return {
    view: viewOf(goalUri ?? `run:${runId}`, status, view),
    sequence: 1,
    runId: 'run-1',
    goalUri: 'file:///w/GOAL.md',
    title: 'Ship it',
    worker: 'agent',
    status: 'running',
    iteration: 3,
    complete: false,
    missing: '',
    requirements: [],
    interrupts: [],
    takeOver: false,
    limits: { maxIterations: 10, timeoutSeconds: 3600, budgetUsd: null },
    iterationsTotal: 3,
    judge: null,
    start: null,
    pausedBy: null,
    guard: null,
    ...given,
  };
}

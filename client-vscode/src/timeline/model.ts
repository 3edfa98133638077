import type { Language } from '../goalNodes';
import { money, runStatus, spent, tally } from '../phrases';
import type { Iteration, Snapshot } from '../protocol';
import { duration } from '../statusText';
import { isHintable } from './activity';
import type { Header, Row } from './messages';

/** The rows of the timeline, oldest first; what is under way is the last. */
export function timelineRows(snapshot: Snapshot, iterations: readonly Iteration[], language: Language): Row[] {
  let cost: number | null = 0;
  const rows: Row[] = [];
  // That nothing has a price is said once, above.
  const priced = iterations.some(({ usd }) => usd !== null && usd > 0);
  for (const iteration of iterations) {
    cost = cost === null || iteration.usd === null ? null : cost + iteration.usd;
    rows.push(finishedRow(iteration, cost, priced, language));
  }
  const last = iterations.at(-1)?.number ?? 0;
  const open = snapshot.status === 'running' || snapshot.status === 'waiting' || snapshot.status === 'paused';
  if (open && snapshot.iteration > last) {
    rows.push(openRow(snapshot, language));
  }
  return rows;
}

function finishedRow(iteration: Iteration, cost: number | null, priced: boolean, language: Language): Row {
  const { t } = language;
  const files = iteration.changedFiles.length;
  const met = tally({ met: iteration.met, waived: 0, total: iteration.total }, language);
  const facts = [
    ...(iteration.error === null ? [] : [t('failed')]),
    met,
    ...(iteration.usd === null && !priced ? [] : spent(iteration.usd, language)),
    duration(iteration.seconds),
    files === 1 ? t('1 file changed') : t('{0} files changed', files),
  ];
  const soFar = cost === null || cost === 0 ? [] : [t('{0} so far', money(cost, language))];
  return {
    number: iteration.number,
    label: t('Iteration {0}', iteration.number),
    facts: facts.join(' · '),
    summary: iteration.error ?? iteration.summary,
    point: [percent(iteration.score), met, ...soFar].join(' · '),
    score: iteration.score,
    cost,
    tone: iteration.error !== null ? 'bad' : iteration.score >= 1 ? 'good' : 'plain',
    version: `${iteration.revision} ${String(iteration.seconds)} ${String(iteration.met)}`,
  };
}

/** Where the chart begins: how far the goal was before the first of these rows; nothing where earlier ones are missing. */
function beforeRow({ baseline }: Snapshot, done: readonly Row[], language: Language): Row | undefined {
  if (baseline === null || done[0]?.number !== 1) {
    return undefined;
  }
  const met = tally({ ...baseline, waived: 0 }, language);
  return {
    number: 0,
    label: language.t('Before the first iteration'),
    facts: met,
    summary: '',
    point: `${percent(baseline.score)} · ${met}`,
    score: baseline.score,
    cost: 0,
    tone: 'plain',
    version: met,
  };
}

function openRow(snapshot: Snapshot, language: Language): Row {
  return {
    number: snapshot.iteration,
    label: language.t('Iteration {0}', snapshot.iteration),
    facts: runStatus(snapshot.status, language),
    summary: snapshot.activity ?? '',
    point: '',
    score: null,
    cost: null,
    tone: 'plain',
    version: `${String(snapshot.sequence)} ${snapshot.activity ?? ''}`,
  };
}

export function timelineHeader(snapshot: Snapshot, rows: readonly Row[], language: Language): Header {
  const { t } = language;
  const progress =
    snapshot.maxIterations === null
      ? t('iteration {0}', snapshot.iteration)
      : t('iteration {0} of {1}', snapshot.iteration, snapshot.maxIterations);
  const status = runStatus(snapshot.status, language);
  const facts = [
    status,
    progress,
    tally(snapshot.counts, language),
    ...spent(snapshot.cost.usd, language),
    ...tokens(snapshot, language),
    duration(snapshot.elapsedSeconds),
  ];
  const done = rows.filter((row) => row.score !== null);
  const last = done.at(-1);
  const before = beforeRow(snapshot, done, language);
  return {
    title: snapshot.title,
    facts: facts.join(' · '),
    activity: (snapshot.status === 'running' ? snapshot.activity : snapshot.reason) ?? '',
    chart: chartInWords(done, before?.score ?? done[0]?.score ?? 0, language),
    before,
    note: costNote(done, language),
    hintable: isHintable(snapshot),
    news: last === undefined ? status : t('{0}. {1} has ended: {2}', status, last.label, last.facts),
  };
}

/** What worker and judge were sent and answered; nothing where no model was asked. */
function tokens({ cost: { worker, judge } }: Snapshot, { t }: Language): string[] {
  const sum = [worker, judge].reduce((all, one) => all + one.inputTokens + one.outputTokens, 0);
  return sum === 0 ? [] : [t('{0} tokens', sum.toLocaleString('en'))];
}

/** The chart for people who don't see it; of its cost, what there is to say. */
function chartInWords(done: readonly Row[], from: number, language: Language): string {
  const { t } = language;
  const last = done.at(-1);
  if (last === undefined) {
    return t('No iteration has ended yet.');
  }
  const said = [done.length, percent(from), percent(last.score ?? 0)] as const;
  if (last.cost === null) {
    return t('Score over {0} iterations: the score went from {1} to {2}. What it cost is not known.', ...said);
  }
  return last.cost === 0
    ? t('Score over {0} iterations: the score went from {1} to {2}.', ...said)
    : t('Score and cost over {0} iterations: the score went from {1} to {2}, the cost is {3}.', ...said, money(last.cost, language));
}

function costNote(done: readonly Row[], { t }: Language): string {
  if (done.every((row) => row.cost !== null)) {
    return '';
  }
  return done.some((row) => row.cost !== null && row.cost > 0)
    ? t('The cost is shown up to where the price of a model is not known.')
    : t('The cost isn’t shown: the price of the model is not known.');
}

function percent(score: number): string {
  return `${String(Math.round(score * 100))} %`;
}

/** The rows that differ from those the page has. */
export function changedRows(before: ReadonlyMap<number, Row>, rows: readonly Row[]): Row[] {
  return rows.filter((row) => {
    const known = before.get(row.number);
    return known === undefined || FIELDS.some((field) => known[field] !== row[field]);
  });
}

const FIELDS = ['label', 'facts', 'summary', 'point', 'score', 'cost', 'tone', 'version'] as const;

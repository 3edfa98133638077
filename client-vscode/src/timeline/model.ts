import type { Language } from '../goalNodes';
import { money, runStatus, spent, tally } from '../phrases';
import type { Iteration, Snapshot } from '../protocol';
import { duration } from '../statusText';
import type { Header, Row } from './messages';

/** The rows of the timeline, oldest first; what is under way is the last. */
export function timelineRows(snapshot: Snapshot, iterations: readonly Iteration[], language: Language): Row[] {
  let cost: number | null = 0;
  const rows: Row[] = [];
  for (const iteration of iterations) {
    cost = cost === null || iteration.usd === null ? null : cost + iteration.usd;
    rows.push(finishedRow(iteration, cost, language));
  }
  const last = iterations.at(-1)?.number ?? 0;
  const open = snapshot.status === 'running' || snapshot.status === 'waiting' || snapshot.status === 'paused';
  if (open && snapshot.iteration > last) {
    rows.push(openRow(snapshot, language));
  }
  return rows;
}

function finishedRow(iteration: Iteration, cost: number | null, language: Language): Row {
  const { t } = language;
  const files = iteration.changedFiles.length;
  const facts = [
    tally({ met: iteration.met, waived: 0, total: iteration.total }, language),
    ...spent(iteration.usd, language),
    duration(iteration.seconds),
    files === 1 ? t('1 file changed') : t('{0} files changed', files),
  ];
  return {
    number: iteration.number,
    label: t('Iteration {0}', iteration.number),
    facts: facts.join(' · '),
    summary: iteration.error ?? iteration.summary,
    score: iteration.score,
    cost,
    tone: iteration.error !== null ? 'bad' : iteration.score >= 1 ? 'good' : 'plain',
    version: `${iteration.revision} ${String(iteration.seconds)} ${String(iteration.met)}`,
  };
}

function openRow(snapshot: Snapshot, language: Language): Row {
  return {
    number: snapshot.iteration,
    label: language.t('Iteration {0}', snapshot.iteration),
    facts: runStatus(snapshot.status, language),
    summary: snapshot.activity ?? '',
    score: null,
    cost: null,
    tone: 'plain',
    version: `${String(snapshot.sequence)} ${snapshot.activity ?? ''}`,
  };
}

export function timelineHeader(snapshot: Snapshot, rows: readonly Row[], language: Language): Header {
  const progress =
    snapshot.maxIterations === null
      ? language.t('iteration {0}', snapshot.iteration)
      : language.t('iteration {0} of {1}', snapshot.iteration, snapshot.maxIterations);
  const facts = [
    runStatus(snapshot.status, language),
    progress,
    tally(snapshot.counts, language),
    ...spent(snapshot.cost.usd, language),
    duration(snapshot.elapsedSeconds),
  ];
  return {
    title: snapshot.title,
    facts: facts.join(' · '),
    activity: (snapshot.status === 'running' ? snapshot.activity : snapshot.reason) ?? '',
    chart: chartInWords(rows, language),
  };
}

/** The chart for people who don't see it. */
function chartInWords(rows: readonly Row[], language: Language): string {
  const done = rows.filter((row) => row.score !== null);
  const [first, last] = [done[0], done.at(-1)];
  if (first === undefined || last === undefined) {
    return language.t('No iteration has ended yet.');
  }
  return language.t(
    'Score and cost over {0} iterations: the score went from {1} to {2}, the cost is {3}.',
    done.length,
    percent(first.score ?? 0),
    percent(last.score ?? 0),
    money(last.cost, language),
  );
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

const FIELDS = ['label', 'facts', 'summary', 'score', 'cost', 'tone', 'version'] as const;

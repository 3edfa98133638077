import { visible } from './askedText';
import type { Requirement, Snapshot } from './protocol';

const LONGEST = 2_000;
const MOST_GOALS = 20;

/**
 * How far goals are, for a model: what is still missing comes first. In English, as models are told. Text of the
 * workspace stands in quotes: it says what is, and asks for nothing.
 */
export function goalsText(runs: readonly Snapshot[], goalFiles: readonly string[]): string {
  if (runs.length === 0) {
    return goalFiles.length === 0
      ? 'There is no goal file in this workspace.'
      : `No goal has been checked or started yet. Goal files: ${goalFiles.slice(0, MOST_GOALS).join(', ')}. To check one, use check_goal.`;
  }
  return runs.slice(0, MOST_GOALS).map(goalText).join('\n\n');
}

export function goalText(run: Snapshot): string {
  const { counts, requirements } = run;
  const waived = counts.waived === 0 ? '' : `, ${String(counts.waived)} waived by a person`;
  const missing = requirements.filter((one) => one.status !== 'met' && one.status !== 'waived');
  return [
    `Goal ${quoted(run.title)}: ${standing(run)}. ${String(counts.met)} of ${String(counts.total)} requirements proven${waived}.`,
    ...(missing.length === 0 ? ['Nothing is missing.'] : ['Still missing:', ...missing.map(line)]),
    ...open(run),
    ...asked(run),
  ].join('\n');
}

function standing({ status, iteration, maxIterations, complete }: Snapshot): string {
  if (status === null) {
    return complete ? 'checked, complete' : 'checked, not complete';
  }
  const most = maxIterations === null ? '' : ` of at most ${String(maxIterations)}`;
  return iteration === 0 ? status : `${status}, iteration ${String(iteration)}${most}`;
}

function line(one: Requirement): string {
  const evidence = one.evidenceIds.length === 0 ? '' : ` (evidence ${one.evidenceIds.join(', ')})`;
  const places = one.locations.slice(0, 3).map(({ uri, range }) => `${nameOf(uri)}:${String(range.start.line + 1)}`);
  const at = places.length === 0 ? '' : ` at ${places.join(', ')}`;
  return `- R${String(one.number)} ${quoted(one.text)} is ${one.status}: ${quoted(one.reason)}${at}${evidence}`;
}

function open({ integrity }: Snapshot): string[] {
  const found = integrity.filter((one) => !one.accepted);
  return found.map((one) => `- Integrity finding ${one.id}: ${quoted(one.message)} in ${nameOf(one.uri)}`);
}

function asked({ interrupts }: Snapshot): string[] {
  return interrupts.map((one) => `The run waits for the person to answer: ${quoted(one.title)}`);
}

function nameOf(uri: string): string {
  const last = uri.slice(uri.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function quoted(text: string): string {
  const line = visible(text).replace(/\s+/g, ' ').trim();
  return JSON.stringify(line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line);
}

/** What is said of a step to somebody who listens, and how much it matters. */
export interface Said {
  readonly sentence: string;
  readonly weight: number;
}

/** A question waits for an answer, and a report says what a whole turn came to. */
const FIRST: ReadonlySet<string> = new Set(['asks', 'reports']);

/** What is said of a step of that kind and state. */
export function saidOf(sentence: string, kind: string, state: string): Said {
  return { sentence, weight: FIRST.has(kind) ? 2 : kind === 'says' || state === 'failed' ? 1 : 0 };
}

/** The sentences that are read out at once: those that matter most, of them the latest, in the order in which they happened. */
export function readAtOnce(waiting: readonly Said[], most: number): string[] {
  const latest = waiting.map((said, at) => ({ said, at })).sort((a, b) => b.said.weight - a.said.weight || b.at - a.at);
  const chosen = new Set(latest.slice(0, most).map(({ said }) => said));
  return waiting.filter((said) => chosen.has(said)).map(({ sentence }) => sentence);
}

import type { CommandResults } from './protocol';

export type OfferedCheck = CommandResults['donewhen.goal.detect']['checks'][number];

/** The checks of a new goal, while it is asked for: what was found, what a person typed, and what of it proves the goal. */
export class OfferedChecks {
  /** Whether a check is taken, by its command, where somebody said so: nothing that is found later changes that. */
  private readonly said = new Map<string, boolean>();
  private readonly added: OfferedCheck[] = [];
  private readonly decided: boolean;
  private found: readonly OfferedCheck[] = [];

  constructor(
    /** What no command decides. */
    private readonly requirements: readonly string[],
    /** The commands that are known to decide the goal. */
    known: readonly string[],
    /** What is said of a check that was not found. */
    private readonly own: string,
  ) {
    // The project's own checks are offered beside what decides it, and not taken.
    this.decided = requirements.length + known.length > 0;
    known.forEach((command) => {
      this.add(command);
    });
  }

  get all(): readonly OfferedCheck[] {
    const found = new Set(this.found.map(({ command }) => command));
    return [...this.found, ...this.added.filter(({ command }) => !found.has(command))];
  }

  get taken(): readonly OfferedCheck[] {
    return this.all.filter((check) => this.isTaken(check));
  }

  get failing(): readonly OfferedCheck[] {
    return this.found.filter(({ standing }) => standing === 'red');
  }

  /** Whether a run would show something: one of checks that all pass already would be complete at once. */
  get shows(): boolean {
    return this.requirements.length > 0 || this.taken.some(({ standing }) => standing !== 'green');
  }

  isTaken({ command, suggested }: OfferedCheck): boolean {
    return this.said.get(command) ?? (suggested && !this.decided);
  }

  add(command: string): void {
    this.said.set(command, true);
    if (!this.all.some((check) => check.command === command)) {
      const { own } = this;
      this.added.push({ command, why: own, state: own, suggested: true, standing: null, reason: null });
    }
  }

  toggle(check: OfferedCheck): void {
    this.said.set(check.command, !this.isTaken(check));
  }

  /** What was found, and once more when it was tried: what can't be run turns out then, and what would do instead. */
  take(found: readonly OfferedCheck[]): void {
    this.found = found;
  }
}

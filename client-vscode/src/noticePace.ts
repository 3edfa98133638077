/** VS Code shows three notifications within 800 ms; those that come after them go into its list alone. */
const APART_MS = 900;

/** Hands out the moments at which notifications are shown: at once after a pause, and else so far apart that each is seen. */
export class NoticePace {
  private free = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly apart = APART_MS,
  ) {}

  /** Resolves when it is one's turn, in the order in which turns were asked for. */
  async turn(): Promise<void> {
    const now = this.now();
    const mine = Math.max(now, this.free);
    this.free = mine + this.apart;
    if (mine > now) {
      await new Promise((resolve) => setTimeout(resolve, mine - now));
    }
  }
}

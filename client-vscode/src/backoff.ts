const DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000];
const CALM_MS = 3 * 60_000;

/** How long to wait before the server is started again, after each crash. */
export class Backoff {
  private crashes: number[] = [];

  /** The delay in milliseconds; undefined where it crashes too often to go on by itself. */
  crashed(now: number): number | undefined {
    this.crashes = [...this.crashes.filter((at) => now - at < CALM_MS), now];
    return DELAYS_MS[this.crashes.length - 1];
  }

  reset(): void {
    this.crashes = [];
  }
}

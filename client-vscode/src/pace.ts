const GAP_MS = 100;
const PATIENCE_MS = 1_000;

/**
 * Lets one drawing be under way at a time: the next begins once the editor has come for the last one, so that changes
 * that come faster than they are drawn are drawn together, and none waits in a queue.
 */
export class Pace {
  private wanted = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private disposed = false;

  constructor(private readonly draw: () => void) {}

  /** Something changed. */
  want(): void {
    this.wanted = true;
    if (this.timer === undefined) {
      this.go();
    }
  }

  /** A drawing was handed over; an editor that shows nothing of it never comes for it. */
  given(): void {
    this.wait(PATIENCE_MS);
  }

  /** The editor came for it. */
  taken(): void {
    if (this.timer !== undefined) {
      this.wait(GAP_MS);
    }
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.timer);
  }

  private wait(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.go();
    }, ms);
  }

  private go(): void {
    if (this.wanted && !this.disposed) {
      this.wanted = false;
      this.draw();
    }
  }
}

/** VS Code draws a tree's first change at once, and all that follow within 200 ms of each other only after such a pause. */
const WINDOW_MS = 200;
/** Its timer was set just after ours. */
const GAP_MS = WINDOW_MS + 10;
const PATIENCE_MS = 1_000;

/**
 * Draws at once after a pause, and changes that come faster together, each time just late enough that VS Code draws at
 * once too: its own wait begins anew with each change, so that changes which never pause would not be drawn for long.
 *
 * One drawing is under way at a time: the next begins once the editor has come for the last one.
 */
export class Pace {
  private wanted = false;
  private begun = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private disposed = false;

  constructor(
    private readonly draw: () => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Something changed. */
  want(): void {
    this.wanted = true;
    if (this.timer === undefined) {
      this.go();
    }
  }

  /** A drawing was handed over; an editor that shows nothing of it never comes for it. */
  given(): void {
    this.begun = this.now();
    this.wait(PATIENCE_MS);
  }

  /** The editor came for it. */
  taken(): void {
    if (this.timer !== undefined) {
      this.wait(Math.max(0, this.begun + GAP_MS - this.now()));
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

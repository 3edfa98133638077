/** Acts at once after a pause. What comes sooner than `ms` after the time before is acted on together, then. */
export class Throttle {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private waits = false;
  private disposed = false;

  constructor(
    private readonly act: () => void,
    private readonly ms: number,
  ) {}

  /** Something changed. */
  want(): void {
    if (this.timer !== undefined || this.disposed) {
      this.waits = true;
      return;
    }
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.waits) {
        this.waits = false;
        this.want();
      }
    }, this.ms);
    this.act();
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.timer);
  }
}

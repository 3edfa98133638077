/** What goes wrong in the same way is told once for as long as its words stand there, and anew to whoever tries again. */
export class Once {
  private telling: string | undefined;

  /** Whether these words are to be told now. */
  tells(message: string): boolean {
    const other = this.telling !== message;
    this.telling = message;
    return other;
  }

  /** They stand there no more. */
  closed(message: string): void {
    if (this.telling === message) {
      this.telling = undefined;
    }
  }

  /** A person tries again, though the words of before may still be listed. */
  again(): void {
    this.telling = undefined;
  }
}

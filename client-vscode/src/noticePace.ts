/** VS Code shows three notifications within 800 ms; those that come after them go into its list alone. */
const PAUSE_MS = 900;

let endedAt = Number.NEGATIVE_INFINITY;

/** A notification was closed, or one of its buttons was pressed. */
export function noticeEnded(): void {
  endedAt = performance.now();
}

/** Resolves when the next notification will be seen. */
export async function nextNotice(): Promise<void> {
  const left = endedAt + PAUSE_MS - performance.now();
  if (left > 0) {
    await new Promise((resolve) => setTimeout(resolve, left));
  }
}

import { element, setText } from './elements';

/** However fast iterations end, somebody who listens hears of one and not of the next for this long. */
const REST_MS = 5_000;

/** The one line that a screen reader reads out by itself. What stands there at first is not read. */
export class News {
  readonly root = element('p', { class: 'spoken', role: 'status', 'aria-live': 'polite' });
  private latest = '';
  private resting = false;

  say(text: string): void {
    this.latest = text;
    if (!this.resting && this.root.textContent !== text) {
      setText(this.root, text);
      this.resting = true;
      setTimeout(() => {
        this.resting = false;
        this.say(this.latest);
      }, REST_MS);
    }
  }
}

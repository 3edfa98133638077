import type { Step } from '../../protocol';
import type { Action, Words } from '../messages';
import { element, linkButton, setText } from './elements';
import { StepLog } from './news';

/** More than these at once are hard to scroll through, and the earlier ones are in the iterations below. */
const MOST_SHOWN = 300;
/** Texts up to this many lines stand there as they are; longer ones fold. */
const SHORT = 3;
/** Somebody who reads the last lines follows; whoever scrolled up is left where they are. */
const NEAR_END = 24;

/** What is words, and nothing else. */
const SAID: ReadonlySet<string> = new Set(['says', 'reports', 'asks']);

interface Shown {
  readonly item: HTMLLIElement;
  view: Step;
}

/** What the worker reads, runs, edits and says, as it happens; and a field to say something to it. */
export class ActivityView {
  readonly root = element('section', { class: 'activity', hidden: true });
  private readonly list = element('ol');
  private readonly box: HTMLElement;
  private readonly form = element('div', { class: 'telling' });
  private readonly field: HTMLTextAreaElement;
  private readonly send: HTMLButtonElement;
  private readonly told = element('p', { class: 'quiet' });
  private readonly shown = new Map<string, Shown>();
  private readonly spoken: StepLog;
  private waiting: Step[] = [];

  constructor(
    private readonly words: Words,
    private readonly open: (action: Action) => void,
    hint: (text: string) => void,
  ) {
    this.box = element('div', { class: 'steps', role: 'region', tabindex: 0, 'aria-label': words.activity }, this.list);
    const label = element('label', { for: 'hint' }, words.hint);
    this.field = element('textarea', { id: 'hint', rows: 2, maxlength: 20_000 });
    this.send = element('button', { type: 'button', class: 'send' }, words.sendHint);
    this.form.append(label, this.field, this.send, this.told);
    this.spoken = new StepLog(words.activity);
    this.root.append(element('h2', {}, words.activity), this.box, this.spoken.root, this.form);
    const sends = (): void => {
      const text = this.field.value.trim();
      if (text !== '') {
        this.send.disabled = true;
        hint(text);
      }
    };
    this.send.addEventListener('click', sends);
    this.field.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        sends();
      }
    });
  }

  /** Steps that are new, or other ones than before; drawn with the next frame. */
  take(steps: readonly Step[]): void {
    if (this.waiting.length === 0) {
      requestAnimationFrame(() => {
        this.draw();
      });
    }
    this.waiting.push(...steps);
  }

  hintable(possible: boolean): void {
    this.form.hidden = !possible;
    this.reveal();
  }

  /** What came of a hint; one that was taken leaves the field empty for the next one. */
  hinted(text: string, failed: boolean): void {
    this.send.disabled = false;
    setText(this.told, text);
    if (!failed) {
      this.field.value = '';
    }
  }

  focusField(): void {
    (this.form.hidden ? this.box : this.field).focus();
  }

  private reveal(): void {
    this.root.hidden = this.shown.size === 0 && this.form.hidden;
  }

  private draw(): void {
    const { box } = this;
    const follows = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
    const steps = this.waiting;
    this.waiting = [];
    for (const view of steps) {
      this.put(view);
    }
    this.spoken.take(steps, (view) => this.sentence(view));
    while (this.shown.size > MOST_SHOWN && this.list.firstElementChild !== null) {
      const { firstElementChild: first } = this.list;
      this.shown.delete((first as HTMLElement).dataset['step'] ?? '');
      first.remove();
    }
    this.reveal();
    if (follows) {
      box.scrollTop = box.scrollHeight;
    }
  }

  private put(view: Step): void {
    const known = this.shown.get(view.id);
    if (known !== undefined) {
      const opened = known.item.querySelector('details')?.open;
      const changed = known.view.state !== view.state;
      known.view = view;
      this.fill(known.item, view, changed ? undefined : opened);
      return;
    }
    const item = element('li', { 'data-step': view.id });
    this.fill(item, view, undefined);
    this.shown.set(view.id, { item, view });
    let after = this.list.lastElementChild;
    while (after !== null && this.orderOf(after) > view.order) {
      after = after.previousElementSibling;
    }
    if (after === null) {
      this.list.prepend(item);
    } else {
      after.after(item);
    }
  }

  private orderOf(item: Element): number {
    return this.shown.get((item as HTMLElement).dataset['step'] ?? '')?.view.order ?? 0;
  }

  /** What has the focus keeps it, though the step is drawn anew. */
  private fill(item: HTMLElement, view: Step, opened: boolean | undefined): void {
    const focusable = 'summary, button';
    const focused = [...item.querySelectorAll(focusable)].findIndex((one) => one === document.activeElement);
    item.className = `${view.kind} ${view.state}`;
    item.replaceChildren(...this.parts(view, opened));
    if (focused >= 0) {
      item.querySelectorAll<HTMLElement>(focusable)[focused]?.focus({ preventScroll: true });
    }
  }

  private parts(view: Step, opened: boolean | undefined): (Node | string)[] {
    const head = this.head(view);
    const body = view.diff === '' ? textBody(view.text) : diffBody(view.diff);
    const actions = actionsOf(view).map((action) => this.link(action));
    if (body === undefined) {
      return [...head, ...actions];
    }
    if (isShort(view)) {
      return [...head, body, ...actions];
    }
    const details = element('details', { open: opened ?? isOpen(view) }, element('summary', {}, ...head), body);
    return [details, ...actions];
  }

  private head({ state, lead, title, ...step }: Step): (Node | string)[] {
    const counts = countsOf(step);
    return [
      element('span', { class: 'sign', 'aria-hidden': 'true' }),
      ...(state === 'failed' ? [element('span', { class: 'spoken' }, `${this.words.failed}: `)] : []),
      ...(lead === '' ? [] : [element('span', { class: 'lead' }, lead), ' ']),
      element('span', { class: 'text' }, title),
      ...(counts === '' ? [] : [' ', element('span', { class: 'counts' }, counts)]),
    ];
  }

  /** A step as it is read out. What it says, reports or asks is all there is to it; of others, the title tells enough. */
  private sentence({ kind, state, lead, title, text, ...step }: Step): string {
    const words = SAID.has(kind) ? [title, text] : [title, countsOf(step)];
    return [state === 'failed' ? `${this.words.failed}:` : '', lead, ...words].filter((one) => one !== '').join(' ');
  }

  private link(action: Action): Element {
    const words = { step: this.words.showAll, file: this.words.openFile, evidence: this.words.evidence, change: '' };
    return linkButton(words[action.kind], () => {
      this.open(action);
    });
  }
}

function countsOf({ diff, added, removed }: Pick<Step, 'diff' | 'added' | 'removed'>): string {
  return diff === '' ? '' : `+${added} −${removed}`;
}

function actionsOf({ id, cut, diff, uri, evidenceId }: Step): Action[] {
  return [
    ...(cut ? [{ kind: 'step', stepId: id, diff: diff !== '' } as const] : []),
    ...(uri === null ? [] : [{ kind: 'file', uri } as const]),
    ...(evidenceId === null ? [] : [{ kind: 'evidence', evidenceId } as const]),
  ];
}

/** What it says stands there as it is; of the rest, what is short. */
function isShort({ kind, diff, text }: Step): boolean {
  if (kind === 'reads') {
    return false;
  }
  return kind === 'says' || kind === 'reports' || kind === 'hint' || (diff === '' && text.split('\n').length <= SHORT);
}

/** An edit, what goes on and what failed is shown until somebody folds it. */
function isOpen({ kind, diff, state }: Step): boolean {
  return kind !== 'reads' && (diff !== '' || state !== 'done');
}

function textBody(text: string): HTMLElement | undefined {
  return text === '' ? undefined : element('div', { class: 'output' }, text);
}

/** The signs at the beginnings of lines stay: colours alone tell nobody who doesn't see them. */
function diffBody(diff: string): HTMLElement {
  const lines = diff.split('\n').map((line) => {
    const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'place' : 'same';
    return element('div', { class: kind }, line === '' ? ' ' : line);
  });
  return element('div', { class: 'output diff' }, ...lines);
}

import type { Line, Row, Section } from '../../protocol';
import type { Action, Words } from '../messages';
import { element, linkButton } from './elements';

const STEP = 100;
/** An iteration under way changes all the time; its details are read this often. */
const AGAIN_MS = 1_500;

interface Shown {
  readonly item: HTMLLIElement;
  readonly button: HTMLButtonElement;
  readonly facts: HTMLElement;
  readonly summary: HTMLElement;
  readonly detail: HTMLElement;
  row: Row | undefined;
  said: string;
}

interface RowsEvents {
  readonly expand: (number: number) => void;
  readonly open: (action: Action) => void;
  readonly changed: () => void;
}

/** The iterations, newest first; a window of them, which a button makes longer. */
export class RowsView {
  readonly root = element('section', { class: 'rows' });
  private readonly heading = element('h2');
  private readonly list = element('ol', { reversed: true });
  private readonly more = element('button', { type: 'button', class: 'toggle' });
  private readonly shown = new Map<number, Shown>();
  private rows: readonly Row[] = [];
  private limit: number;
  private readonly asked = new Set<number>();

  constructor(
    private readonly words: Words,
    readonly expanded: Set<number>,
    limit: number,
    private readonly events: RowsEvents,
  ) {
    this.limit = Math.max(STEP, limit);
    this.heading.textContent = words.iterations;
    this.more.textContent = words.showEarlier;
    this.root.append(this.heading, this.list, this.more);
    this.more.addEventListener('click', () => {
      const before = this.list.lastElementChild;
      this.limit += STEP;
      this.draw();
      this.events.changed();
      before?.nextElementSibling?.querySelector('button')?.focus();
    });
  }

  get window(): number {
    return this.limit;
  }

  show(rows: readonly Row[]): void {
    this.rows = [...rows].reverse();
    this.draw();
  }

  /** What was asked for by `expand`. */
  detail(number: number, sections: readonly Section[]): void {
    const shown = this.shown.get(number);
    const said = JSON.stringify(sections);
    if (shown !== undefined && shown.said !== said) {
      shown.said = said;
      const focused = [...shown.detail.querySelectorAll('button')].indexOf(document.activeElement as HTMLButtonElement);
      shown.detail.replaceChildren(...sections.map((one) => sectionView(number, one, this.words, this.events.open)));
      if (focused >= 0) {
        const links = shown.detail.querySelectorAll('button');
        (links[Math.min(focused, links.length - 1)] ?? shown.button).focus({ preventScroll: true });
      }
    }
  }

  /** Opens one iteration, and goes there. */
  reveal(number: number): void {
    const index = this.rows.findIndex((row) => row.number === number);
    this.limit = Math.max(this.limit, index + 1);
    this.draw();
    const shown = this.shown.get(number);
    if (shown !== undefined) {
      this.toggle(number, shown, true);
      shown.button.focus({ preventScroll: true });
      shown.item.scrollIntoView({ block: 'nearest' });
    }
  }

  private draw(): void {
    this.heading.hidden = this.rows.length === 0;
    this.more.hidden = this.rows.length <= this.limit;
    let before: Element | null = this.list.firstElementChild;
    for (const row of this.rows.slice(0, this.limit)) {
      const shown = this.shown.get(row.number) ?? this.make(row);
      this.fill(shown, row);
      if (shown.item === before) {
        before = before.nextElementSibling;
      } else {
        this.list.insertBefore(shown.item, before);
      }
    }
  }

  private make(row: Row): Shown {
    const id = `iteration-${row.number}`;
    const facts = element('span', { class: 'facts' });
    const summary = element('span', { class: 'summary' });
    const label = element('span', { class: 'label' }, row.label);
    const marks = { type: 'button', 'aria-expanded': 'false', 'aria-controls': id };
    const signs = ['twistie', 'sign'].map((name) => element('span', { class: name, 'aria-hidden': 'true' }));
    const button = element('button', marks, ...signs, label, facts, summary);
    const detail = element('div', { id, class: 'detail', role: 'region', 'aria-label': row.label, hidden: true });
    const item = element('li', { value: row.number }, element('h3', {}, button), detail);
    const made = { item, button, facts, summary, detail, row: undefined, said: '' };
    button.addEventListener('click', () => {
      this.toggle(row.number, made, button.getAttribute('aria-expanded') !== 'true');
    });
    this.shown.set(row.number, made);
    if (this.expanded.has(row.number)) {
      this.toggle(row.number, made, true);
    }
    return made;
  }

  private fill(shown: Shown, row: Row): void {
    const before = shown.row;
    if (before === row) {
      return;
    }
    shown.row = row;
    shown.item.className = row.score === null ? 'open' : row.tone;
    shown.facts.textContent = row.facts;
    shown.summary.textContent = row.summary;
    if (before !== undefined && before.version !== row.version && this.expanded.has(row.number)) {
      this.askAgain(row.number);
    }
  }

  private askAgain(number: number): void {
    if (this.asked.has(number)) {
      return;
    }
    this.asked.add(number);
    setTimeout(() => {
      this.asked.delete(number);
      if (this.expanded.has(number)) {
        this.events.expand(number);
      }
    }, AGAIN_MS);
  }

  private toggle(number: number, shown: Shown, open: boolean): void {
    shown.button.setAttribute('aria-expanded', String(open));
    shown.detail.hidden = !open;
    if (open) {
      this.expanded.add(number);
      if (shown.detail.childElementCount === 0) {
        shown.detail.replaceChildren(element('p', { class: 'quiet' }, this.words.loading));
      }
      this.events.expand(number);
    } else {
      this.expanded.delete(number);
    }
    this.events.changed();
  }
}

/** A titled list of lines, those with something to open as buttons. Text of others is only ever text. */
function sectionView(number: number, { title, lines }: Section, words: Words, open: (action: Action) => void): Element {
  const list = element('ul', {}, ...lines.map((line) => lineView(number, line, words, open)));
  return title === '' ? list : element('div', {}, element('h4', {}, title), list);
}

function lineView(number: number, { lead, text, note, tone, evidenceId, uri }: Line, words: Words, open: (action: Action) => void): Element {
  const leads = evidenceId === null ? uri && ({ kind: 'change', number, uri } as const) : ({ kind: 'evidence', evidenceId } as const);
  const item = element('li', { class: tone }, element('span', { class: 'sign', 'aria-hidden': 'true' }));
  if (lead !== '') {
    item.append(element('span', { class: 'lead' }, lead), ' ');
  }
  if (lead !== '' && tone === 'bad') {
    item.append(element('span', { class: 'spoken' }, `${words.failed}: `));
  }
  item.append(leads ? linkButton(text, () => { open(leads); }) : element('span', { class: 'text' }, text));
  if (note !== '') {
    item.append(' ', element('span', { class: 'note' }, note));
  }
  return item;
}

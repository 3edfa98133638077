import type { Step } from '../../protocol';
import type { Link } from '../messages';
import { type Content, type Drawn, h, linkButton, SIGN } from './drawing';

/** More than these at once are hard to scroll through, and the earlier ones are in the iterations below. */
const MOST_SHOWN = 300;
/** Texts up to this many lines stand there as they are; longer ones fold. */
const SHORT = 3;

/** What is words, and nothing else. */
const SAID: ReadonlySet<string> = new Set(['says', 'reports', 'asks']);

/** What the worker reads, runs, edits and says, as it happens, in order. */
export class Steps {
  private shown = new Map<string, { readonly order: number; readonly item: Drawn }>();

  constructor(private readonly open: (link: Link) => void) {}

  /** Steps that are new, or other ones than before. */
  take(steps: readonly Step[]): void {
    for (const step of steps) {
      this.shown.set(step.id, { order: step.order, item: this.item(step) });
    }
    this.shown = new Map([...this.shown].sort(([, a], [, b]) => a.order - b.order).slice(-MOST_SHOWN));
  }

  items(): Drawn[] {
    return [...this.shown.values()].map(({ item }) => item);
  }

  private item(step: Step): Drawn {
    const { id, kind, state, lead, title, diff, text } = step;
    const counts = countsOf(step);
    const head: Content[] = [
      SIGN,
      state === 'failed' && h('span', { class: 'spoken' }, 'failed: '),
      ...(lead === '' ? [] : [h('span', { class: 'lead' }, lead), ' ']),
      h('span', { class: 'text' }, title),
      ...(counts === '' ? [] : [' ', h('span', { class: 'counts' }, counts)]),
    ];
    const body = diff !== '' ? diffBody(diff) : text !== '' && h('div', { class: 'output' }, text);
    const folds = body !== false && !isShort(step);
    const whole = folds ? [h('details', { open: isOpen(step) }, h('summary', {}, head), body)] : [...head, body];
    const links = linksOf(step).map(([words, link]) => linkButton(words, words, () => { this.open(link); }));
    return h('li', { 'data-key': id, class: `${kind} ${state}` }, whole, links);
  }
}

/** A step as it is read out. What it says, reports or asks is all there is to it; of others, the title tells enough. */
export function sentenceOf(step: Step): string {
  const { kind, state, lead, title, text } = step;
  return [state === 'failed' ? 'failed:' : '', lead, title, SAID.has(kind) ? text : countsOf(step)].filter((one) => one !== '').join(' ');
}

function countsOf({ diff, added, removed }: Step): string {
  return diff === '' ? '' : `+${added} −${removed}`;
}

function linksOf({ id, cut, diff, uri, evidenceId }: Step): [string, Link][] {
  return [
    ...(cut ? [['Show All', { opens: 'openStep', stepId: id, diff: diff !== '' }] satisfies [string, Link]] : []),
    ...(uri === null ? [] : [['Open File', { opens: 'file', uri }] satisfies [string, Link]]),
    ...(evidenceId === null ? [] : [['Evidence', { opens: 'openEvidence', evidenceId }] satisfies [string, Link]]),
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

/** The signs at the beginnings of lines stay: colours alone tell nobody who doesn't see them. */
function diffBody(diff: string): Drawn {
  const lines = diff.split('\n').map((line) => {
    const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'place' : 'same';
    return h('div', { class: kind }, line === '' ? ' ' : line);
  });
  return h('div', { class: 'output diff' }, lines);
}

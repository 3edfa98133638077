import type { Line, Row, Section } from '../../protocol';
import type { Link } from '../messages';
import { type Drawn, h, linkButton, SIGN } from './drawing';

interface RowsShown {
  /** Newest first. */
  readonly rows: readonly Row[];
  /** How many of them are listed. */
  readonly window: number;
  readonly expanded: ReadonlySet<number>;
  readonly details: ReadonlyMap<number, readonly Section[]>;
}

interface RowsEvents {
  toggle(number: number): void;
  more(): void;
  open(link: Link): void;
}

/** The iterations, newest first; a window of them, which a button makes longer. */
export function rowsView({ rows, window, expanded, details }: RowsShown, events: RowsEvents): Drawn {
  const items = rows.slice(0, window).map((row) => rowView(row, expanded.has(row.number), details.get(row.number), events));
  return h(
    'section',
    { class: 'rows' },
    h('h2', { hidden: rows.length === 0 }, 'Iterations'),
    h('ol', { reversed: true }, items),
    h('button', { type: 'button', class: 'toggle', hidden: rows.length <= window, onclick: () => { events.more(); } }, 'Show earlier iterations'),
  );
}

function rowView({ number, label, facts, summary, score, tone }: Row, open: boolean, sections: readonly Section[] | undefined, events: RowsEvents): Drawn {
  const id = `iteration-${number}`;
  const marks = { type: 'button', 'aria-expanded': String(open), 'aria-controls': id, onclick: () => { events.toggle(number); } };
  const words = [['label', label], ['facts', facts], ['summary', summary]].map(([name, text = '']) => h('span', { class: name }, text));
  const button = h('button', marks, h('span', { class: 'twistie', 'aria-hidden': 'true' }), SIGN, words);
  const detail = sections?.map((one) => sectionView(number, one, events)) ?? (open ? [h('p', { class: 'quiet' }, 'Loading…')] : []);
  return h(
    'li',
    { 'data-key': number, value: number, class: score === null ? 'open' : tone },
    h('h3', {}, button),
    h('div', { id, class: 'detail', role: 'region', 'aria-label': label, hidden: !open }, detail),
  );
}

/** A titled list of lines, those with something to open as buttons. */
function sectionView(number: number, { title, lines }: Section, events: RowsEvents): Drawn {
  return h('div', {}, title !== '' && h('h4', {}, title), h('ul', {}, lines.map((line) => lineView(number, line, events))));
}

function lineView(number: number, { lead, text, note, tone, evidenceId, uri }: Line, events: RowsEvents): Drawn {
  const evidence: Link | undefined = evidenceId === null ? undefined : { opens: 'openEvidence', evidenceId };
  const link: Link | undefined = evidence ?? (uri === null ? undefined : { opens: 'openIterationDiff', iteration: number, uri });
  return h(
    'li',
    { class: tone },
    SIGN,
    lead === '' ? [] : [h('span', { class: 'lead' }, lead), ' '],
    lead !== '' && tone === 'bad' && h('span', { class: 'spoken' }, 'failed: '),
    link === undefined ? h('span', { class: 'text' }, text) : linkButton(text, 'link', () => { events.open(link); }),
    note === '' ? [] : [' ', h('span', { class: 'note' }, note)],
  );
}

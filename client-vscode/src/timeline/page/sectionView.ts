import type { Action, Line, Section, Words } from '../messages';
import { element } from './elements';

/** A titled list of lines, those with something to open as buttons. Text of others is only ever text. */
export function sectionView({ title, lines }: Section, words: Words, open: (action: Action) => void): Element {
  const list = element('ul', {}, ...lines.map((line) => lineView(line, words, open)));
  return title === '' ? list : element('div', {}, element('h4', {}, title), list);
}

function lineView({ lead, text, note, tone, action }: Line, words: Words, open: (action: Action) => void): Element {
  const item = element('li', { class: tone }, element('span', { class: 'sign', 'aria-hidden': 'true' }));
  if (lead !== '') {
    item.append(element('span', { class: 'lead' }, lead), ' ');
  }
  if (lead !== '' && tone === 'bad') {
    item.append(element('span', { class: 'spoken' }, `${words.failed}: `));
  }
  item.append(action === undefined ? element('span', { class: 'text' }, text) : link(text, action, open));
  if (note !== '') {
    item.append(' ', element('span', { class: 'note' }, note));
  }
  return item;
}

function link(text: string, action: Action, open: (action: Action) => void): Element {
  const made = element('button', { type: 'button', class: 'link' }, text);
  made.addEventListener('click', () => {
    open(action);
  });
  return made;
}

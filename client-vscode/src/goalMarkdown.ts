/** The parts of markdown-it that a plugin of the Markdown preview works on. */
export interface MarkdownIt {
  readonly core: { readonly ruler: { push(name: string, rule: (state: State) => void): void } };
}

interface State {
  readonly tokens: readonly Token[];
  readonly env: unknown;
  readonly Token: new (type: string, tag: string, nesting: 0) => Token;
}

interface Token {
  readonly type: string;
  readonly level: number;
  content: string;
  children: Token[] | null;
  attrJoin(name: string, value: string): void;
}

/** How a requirement stands, and how that is said; undefined where it isn't known. */
export type Standing = { readonly status: string; readonly said: string } | undefined;

/** What a preview is told: which documents are goals, and how their requirements stand, by their text. */
export interface Goals {
  isGoal(document: unknown): boolean;
  standing(document: unknown, text: string): Standing;
  readonly open: string;
  readonly ticked: string;
}

const BOX = /^\[(?<tick>[ xX])\]\s+/u;
const KEY = /^(?<key>check|file|problems|external):/u;
/** The level of the text of an item: of a list at the top, and of one within such an item. */
const TOP = 3;
const NESTED = 5;

/**
 * Shows the requirements of a goal in the preview as the editor does: with a number and a status, and a box that is no mere
 * pair of brackets. Other documents stay as they are, and so do other lists.
 */
export function withGoals(markdown: MarkdownIt, goals: Goals): MarkdownIt {
  markdown.core.ruler.push('donewhen', (state) => {
    const document = documentOf(state.env);
    if (goals.isGoal(document)) {
      mark(state, document, goals);
    }
  });
  return markdown;
}

function documentOf(env: unknown): unknown {
  return typeof env === 'object' && env !== null && 'currentDocument' in env ? env.currentDocument : undefined;
}

function mark(state: State, document: unknown, goals: Goals): void {
  let number = 0;
  for (const { item, text, first } of items(state.tokens)) {
    const { tick, key } = beginning(text.level, first.content);
    if (tick !== undefined) {
      number += 1;
      const standing = goals.standing(document, text.content.replace(BOX, ''));
      item.attrJoin('class', 'donewhen-requirement');
      first.content = first.content.replace(BOX, '');
      text.children?.unshift(html(state, box(number, tick !== ' ', standing, goals)));
    } else if (key !== undefined) {
      first.content = first.content.slice(key.length + 1);
      text.children?.unshift(html(state, `<span class="donewhen-key">${key}:</span>`));
    }
  }
}

/** The box of a requirement, or the key of what is nested in one. */
function beginning(level: number, text: string): { readonly tick?: string; readonly key?: string } {
  const pattern = level === TOP ? BOX : level === NESTED ? KEY : undefined;
  return pattern?.exec(text)?.groups ?? {};
}

/** The items of lists that begin with words: an item, the paragraph in it, and that paragraph's text. */
function items(tokens: readonly Token[]): { item: Token; text: Token; first: Token }[] {
  return tokens.flatMap((text, index) => {
    const item = tokens[index - 2];
    const [first] = text.children ?? [];
    const begins = text.type === 'inline' && item?.type === 'list_item_open' && first?.type === 'text';
    return begins ? [{ item, text, first }] : [];
  });
}

function html({ Token }: State, content: string): Token {
  const made = new Token('html_inline', '', 0);
  made.content = content;
  return made;
}

function box(number: number, ticked: boolean, standing: Standing, goals: Goals): string {
  const label = ticked ? goals.ticked : goals.open;
  const sign = `<span class="donewhen-box${ticked ? ' donewhen-ticked' : ''}" role="img" aria-label="${escaped(label)}"></span>`;
  const status = standing === undefined ? '' : ` donewhen-${escaped(standing.status)}`;
  const said = standing === undefined ? '' : ` ${escaped(standing.said)}`;
  return `${sign}<span class="donewhen-status${status}">R${String(number)}${said}</span> `;
}

function escaped(text: string): string {
  const signs: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/gu, (sign) => signs[sign] ?? sign);
}

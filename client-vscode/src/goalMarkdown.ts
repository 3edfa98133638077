type Render = (tokens: readonly Token[], options: unknown, env: unknown) => string;

/** The part of markdown-it that a plugin of the Markdown preview works on. */
export interface MarkdownIt {
  readonly renderer: { render: Render };
}

interface Token {
  readonly type: string;
  readonly level: number;
  content: string;
  attrs: [string, string][] | null;
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
 * Shows the requirements of a goal in the preview as the editor does: with its status, and a box that is no mere
 * pair of brackets. Other documents stay as they are, and so do other lists.
 *
 * It is done when the preview is drawn: what a document parses to is kept by the preview, which doesn't say then of which
 * document it is.
 */
export function withGoals(markdown: MarkdownIt, goals: Goals): MarkdownIt {
  const { renderer } = markdown;
  const render = renderer.render.bind(renderer);
  renderer.render = (tokens, options, env) => {
    const document = documentOf(env);
    return render(goals.isGoal(document) ? marked(tokens, document, goals) : tokens, options, env);
  };
  return markdown;
}

function documentOf(env: unknown): unknown {
  return typeof env === 'object' && env !== null && 'currentDocument' in env ? env.currentDocument : undefined;
}

/** Copies of the tokens, the requirements among them with their boxes. */
function marked(tokens: readonly Token[], document: unknown, goals: Goals): Token[] {
  const copies = tokens.map(copied);
  for (const { item, text, first } of items(copies)) {
    const { tick, key } = beginning(text.level, first.content);
    if (tick !== undefined) {
      const standing = goals.standing(document, text.content.replace(BOX, ''));
      item.attrJoin('class', 'donewhen-requirement');
      first.content = first.content.replace(BOX, '');
      text.children?.unshift(html(first, box(tick !== ' ', standing, goals)));
    } else if (key !== undefined) {
      first.content = first.content.slice(key.length + 1);
      text.children?.unshift(html(first, `<span class="donewhen-key">${key}:</span>`));
    }
  }
  return copies;
}

function copied(token: Token): Token {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(token) as object) as Token, token);
  copy.attrs = token.attrs?.map(([name, value]): [string, string] => [name, value]) ?? null;
  copy.children = token.children?.map(copied) ?? null;
  return copy;
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

function html(like: Token, content: string): Token {
  return Object.assign(copied(like), { type: 'html_inline', content });
}

function box(ticked: boolean, standing: Standing, goals: Goals): string {
  const label = ticked ? goals.ticked : goals.open;
  const sign = `<span class="donewhen-box${ticked ? ' donewhen-ticked' : ''}" role="img" aria-label="${escaped(label)}"></span>`;
  const status = standing === undefined ? '' : `<span class="donewhen-status donewhen-${escaped(standing.status)}">${escaped(standing.said)}</span> `;
  return `${sign}${status}`;
}

function escaped(text: string): string {
  const signs: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/gu, (sign) => signs[sign] ?? sign);
}

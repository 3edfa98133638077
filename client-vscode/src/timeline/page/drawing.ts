type Value = string | number | boolean | undefined | ((event: never) => void);

/** An element as it is to be. The same `data-key` is the same thing from one drawing to the next. */
export interface Drawn {
  readonly name: string;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly content: readonly (Drawn | string)[];
}

export type Content = Drawn | string | false;

export function h(name: string, attributes: Drawn['attributes'] = {}, ...content: readonly (Content | readonly Content[])[]): Drawn {
  return { name, attributes, content: content.flat().filter((one): one is Drawn | string => one !== false && one !== '') };
}

const SVG = 'http://www.w3.org/2000/svg';
const drawn = new WeakMap<Node, Drawn>();

/**
 * Makes this the content of an element, out of the elements that are there: what has the focus, is scrolled, selected or
 * unfolded stays so. Text is only ever text.
 */
export function draw(parent: Element, content: readonly (Drawn | string)[]): void {
  const keyed = kept(parent, new Set(content.map(keyOf)));
  let at: ChildNode | null = parent.firstChild;
  for (const one of content) {
    const known = keyed.get(keyOf(one));
    if (keyOf(one) === undefined || known !== undefined) {
      at = unfitSkipped(at, one);
    }
    const node: Node = known ?? (at !== null && fits(at, one) ? at : made(one, parent));
    if (node === at) {
      at = at.nextSibling;
    } else {
      parent.insertBefore(node, at);
    }
    fill(node, one);
  }
  while (at !== null) {
    at = removed(at);
  }
}

/** The children that have a key, by it; those that are not wanted any more go. */
function kept(parent: Element, wanted: ReadonlySet<Value>): Map<Value, Element> {
  const keyed = [...parent.children].map((child) => ({ key: keyOf(drawn.get(child)), child })).filter(({ key }) => key !== undefined);
  keyed.filter(({ key }) => !wanted.has(key)).forEach(({ child }) => { child.remove(); });
  return new Map(keyed.map(({ key, child }) => [key, child]));
}

function keyOf(one: Drawn | string | undefined): Value {
  return typeof one === 'object' ? one.attributes['data-key'] : undefined;
}

/** Whether a node without a key can be used again for something without a key. */
function fits(at: ChildNode, one: Drawn | string): boolean {
  const before = drawn.get(at);
  return typeof one === 'string' ? at instanceof Text : before?.name === one.name && keyOf(before) === undefined && keyOf(one) === undefined;
}

/** What has no key is known by its place alone: where something else is to be there, it goes. */
function unfitSkipped(from: ChildNode | null, one: Drawn | string): ChildNode | null {
  let at = from;
  while (at !== null && keyOf(drawn.get(at)) === undefined && !fits(at, one)) {
    at = removed(at);
  }
  return at;
}

function removed(node: ChildNode): ChildNode | null {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function made(one: Drawn | string, parent: Element): Node {
  if (typeof one === 'string') {
    return document.createTextNode(one);
  }
  return one.name === 'svg' || parent.namespaceURI === SVG ? document.createElementNS(SVG, one.name) : document.createElement(one.name);
}

/** Where nothing is other than before, nothing is drawn, selected or read out anew. */
function fill(node: Node, one: Drawn | string): void {
  if (typeof one === 'string') {
    node.nodeValue = node.nodeValue === one ? node.nodeValue : one;
    return;
  }
  const before = drawn.get(node);
  if (before !== one) {
    drawn.set(node, one);
    for (const name of Object.keys({ ...before?.attributes, ...one.attributes })) {
      if (before?.attributes[name] !== one.attributes[name]) {
        assign(node as HTMLElement, name, one.attributes[name]);
      }
    }
    draw(node as Element, one.content);
  }
}

/** The page's policy refuses handlers and styles as attributes. */
function assign(node: HTMLElement, name: string, value: Value): void {
  if (typeof value === 'function') {
    Reflect.set(node, name, value);
  } else if (name === 'style') {
    node.style.cssText = String(value ?? '');
  } else if (value === undefined || value === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? '' : String(value));
  }
}

/** What is drawn beside a line: the style says which sign. */
export const SIGN = h('span', { class: 'sign', 'aria-hidden': 'true' });

/** A button that looks like a link, the same one wherever what stands before it grows. */
export function linkButton(text: string, key: string, pressed: () => void): Drawn {
  return h('button', { 'data-key': key, type: 'button', class: 'link', onclick: pressed }, text);
}

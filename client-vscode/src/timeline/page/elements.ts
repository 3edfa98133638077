const SVG = 'http://www.w3.org/2000/svg';

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** An HTML element; text is only ever text. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  return filled(made, attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled<E extends Element>(made: E, attributes: Attributes, children: readonly (Node | string)[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) {
      made.setAttribute(name, value === true ? '' : String(value));
    }
  }
  made.append(...children);
  return made;
}

/** A button that looks like a link. */
export function linkButton(text: string, pressed: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', class: 'link' }, text);
  made.addEventListener('click', pressed);
  return made;
}

/** Where the text is the same already, nothing is drawn, selected or read out anew. */
export function setText(where: HTMLElement, text: string): void {
  if (where.textContent !== text) {
    where.textContent = text;
  }
}

import type { Row, Words } from '../messages';
import { element } from './elements';

/** The chart as a table: it scrolls by itself, and stays where it was when a row is added. */
export class TableView {
  readonly root: HTMLElement;
  private readonly head = element('thead');
  private readonly body = element('tbody');

  constructor(private readonly words: Words) {
    this.root = element('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': words.table });
    this.root.append(element('table', {}, this.head, this.body));
  }

  show(rows: readonly Row[]): void {
    const { words } = this;
    const priced = rows.some((row) => row.cost !== null && row.cost > 0);
    const heads = [words.iteration, words.score, ...(priced ? [words.cost] : [])];
    this.head.replaceChildren(element('tr', {}, ...heads.map((word) => element('th', { scope: 'col' }, word))));
    this.body.replaceChildren(...rows.map((row) => this.line(row, priced)));
  }

  private line(row: Row, priced: boolean): Element {
    const cells = [`${Math.round((row.score ?? 0) * 100)} %`];
    if (priced) {
      cells.push(row.cost === null ? this.words.unknown : `$${row.cost.toFixed(2)}`);
    }
    const number = element('th', { scope: 'row' }, String(row.number));
    return element('tr', {}, number, ...cells.map((cell) => element('td', {}, cell)));
  }
}

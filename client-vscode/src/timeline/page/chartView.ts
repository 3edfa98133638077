import type { Row, Words } from '../messages';
import { drawChart } from './drawing';
import { element, setText } from './elements';
import { Pointer } from './pointer';
import { TableView } from './tableView';

const NARROWEST = 240;

/** The chart, or the table that says the same. */
export class ChartView {
  readonly root = element('section', { class: 'chart' });
  private readonly figure = element('div', { class: 'figure' });
  private readonly empty = element('p', { class: 'quiet' });
  private readonly note = element('p', { class: 'quiet' });
  private readonly toggle = element('button', { type: 'button', class: 'toggle' });
  private readonly pointer: Pointer;
  private readonly table: TableView;
  private drawing: Element | undefined;
  private rows: readonly Row[] = [];
  private said = '';
  private drawn = '';

  constructor(
    private readonly words: Words,
    private asTable: boolean,
    chosen: (number: number) => void,
    toggled: (asTable: boolean) => void,
  ) {
    this.pointer = new Pointer(words, chosen);
    this.table = new TableView(words);
    this.figure.append(this.pointer.root, this.pointer.readout);
    this.root.append(this.empty, this.figure, this.table.root, this.note, this.toggle);
    this.toggle.addEventListener('click', () => {
      this.asTable = !this.asTable;
      toggled(this.asTable);
      this.draw();
    });
    new ResizeObserver(() => {
      this.draw();
    }).observe(this.root);
  }

  /** `said` is the chart in words, `note` what is missing in it. */
  show(rows: readonly Row[], said: string, note: string): void {
    setText(this.note, note);
    const done = rows.filter((row) => row.score !== null);
    const look = [said, ...done.map((row) => row.version)].join();
    if (look !== this.drawn) {
      this.drawn = look;
      this.rows = done;
      this.said = said;
      this.draw();
    }
  }

  /** What has the focus, or was scrolled, is kept: only what is drawn is made anew. */
  private draw(): void {
    const none = this.rows.length === 0;
    setText(this.empty, none ? this.words.empty : '');
    setText(this.toggle, this.asTable ? this.words.showChart : this.words.showTable);
    this.empty.hidden = !none;
    this.toggle.hidden = none;
    this.figure.hidden = none || this.asTable;
    this.table.root.hidden = none || !this.asTable;
    if (!this.table.root.hidden) {
      this.table.show(this.rows);
    }
    if (!this.figure.hidden) {
      const { chart, root } = drawChart(this.rows, Math.max(NARROWEST, this.root.clientWidth), this.said, this.words);
      this.drawing?.remove();
      this.drawing = root;
      this.figure.prepend(root);
      this.pointer.show(this.rows, chart, root);
    }
  }
}

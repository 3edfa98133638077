import { type Chart, chartOf } from '../chart';
import type { Row, Words } from '../messages';
import { svg } from './elements';

const HEIGHT = 220;

/** The drawing, and where in it things are. */
export function drawChart(rows: readonly Row[], width: number, said: string, words: Words): { chart: Chart; root: Element } {
  const chart = chartOf(rows, width, HEIGHT);
  const root = svg('svg', { viewBox: `0 0 ${chart.width} ${chart.height}`, role: 'img', 'aria-label': said });
  root.append(...grid(chart));
  root.append(svg('path', { class: 'area', d: chart.scoreArea }), svg('path', { class: 'score', d: chart.score }));
  if (chart.cost !== '') {
    root.append(svg('path', { class: 'cost', d: chart.cost }));
  }
  root.append(...dots(chart, rows), ...legend(chart, words));
  return { chart, root };
}

function dots(chart: Chart, rows: readonly Row[]): Element[] {
  const tones = new Map(rows.map((row) => [row.number, row.tone]));
  return chart.dots.map(({ number, x, y }) => svg('circle', { class: `dot ${tones.get(number) ?? ''}`, cx: x, cy: y, r: 4 }));
}

function grid({ plot, across, scoreTicks, costTicks }: Chart): Element[] {
  const lines = scoreTicks.map(({ at }) => svg('line', { class: 'grid', x1: plot.left, x2: plot.right, y1: at, y2: at }));
  const left = scoreTicks.map(({ at, label }) => text(plot.left - 10, at + 4, 'end', label));
  const right = costTicks.map(({ at, label }) => text(plot.right + 10, at + 4, 'start', label));
  const below = across.map(({ at, label }) => text(at, plot.bottom + 20, 'middle', label));
  return [...lines, ...left, ...right, ...below];
}

/** Above the chart, over the scale that each line is read on. */
function legend({ plot, cost }: Chart, words: Words): Element[] {
  const score = [
    svg('line', { class: 'score', x1: plot.left, x2: plot.left + 20, y1: 8, y2: 8 }),
    text(plot.left + 26, 12, 'start', words.score),
  ];
  return cost === '' ? score : [
    ...score,
    svg('line', { class: 'cost', x1: plot.right - 20, x2: plot.right, y1: 8, y2: 8 }),
    text(plot.right - 26, 12, 'end', words.cost),
  ];
}

function text(x: number, y: number, anchor: string, label: string): Element {
  return svg('text', { x, y, 'text-anchor': anchor, class: 'tick' }, label);
}

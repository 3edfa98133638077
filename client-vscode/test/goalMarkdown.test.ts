import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { type Goals, type MarkdownIt, withGoals } from '../src/goalMarkdown';

interface Renderer extends MarkdownIt {
  render(text: string, env: object): string;
}

// The preview's own renderer.
const make = createRequire(import.meta.url)('markdown-it') as (options: object) => Renderer;
const GOAL = `# Export

- [ ] \`pytest -q\` passes
- [x] Quotes <b>are</b> quoted
  - file: \`a.py\`
  - [ ] no requirement
- no requirement either
`;
const goals: Goals = {
  isGoal: (document) => document === 'GOAL.md',
  standing: (_, text) => (text === '`pytest -q` passes' ? { status: 'unmet', said: 'un"met' } : undefined),
  open: 'not ticked',
  ticked: 'ticked',
};
const render = (currentDocument: string, text = GOAL): string =>
  (withGoals(make({ html: false }), goals) as Renderer).render(text, { currentDocument });

test('requirements have a box and their status', () => {
  const html = render('GOAL.md');
  expect(html.match(/donewhen-requirement/gu)).toHaveLength(2);
  expect(html).toContain('aria-label="not ticked"></span><span class="donewhen-status donewhen-unmet">un&quot;met</span> <code>');
  expect(html).toContain('donewhen-ticked" role="img" aria-label="ticked"></span>Quotes');
  expect(html).toContain('<span class="donewhen-key">file:</span> <code>a.py</code>');
  expect(html).toContain('[ ] no requirement');
  expect(html).not.toContain('<b>');
});

test('other documents stay as they are', () => {
  expect(render('README.md')).toBe(make({ html: false }).render(GOAL, {}));
});

test('a list with paragraphs is a list of requirements, too', () => {
  expect(render('GOAL.md', '1. [ ] one\n\n2. [ ] two\n').match(/donewhen-requirement/gu)).toHaveLength(2);
});

test('what is parsed once is drawn as often as one likes', () => {
  const markdown = withGoals(make({ html: false }), goals) as Renderer & { parse(text: string, env: object): never };
  const tokens = markdown.parse(GOAL, {});
  const drawn = [1, 2].map(() => markdown.renderer.render(tokens, {}, { currentDocument: 'GOAL.md' }));
  expect(drawn[0]).toContain('donewhen-unmet');
  expect(drawn[1]).toBe(drawn[0]);
});

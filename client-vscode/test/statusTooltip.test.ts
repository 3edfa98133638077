import { expect, test } from 'vitest';
import { spokenStatus, statusTooltip } from '../src/statusTooltip';
import { interrupt, requirement, snapshot } from './samples';
import { english } from './snapshots';

test('phase, what is unmet, what was waived, cost and time', () => {
  const shown = snapshot({
    activity: 'edits a.py',
    cost: { ...snapshot().cost, usd: 0.12 },
    counts: { met: 1, unmet: 1, unverified: 0, stale: 0, waived: 1, total: 3, regressed: 0 },
    requirements: [
      requirement({ number: 1, status: 'met', text: 'it runs' }),
      requirement({ number: 2, text: '`pytest -q` passes' }),
      requirement({ number: 3, status: 'waived', text: 'it is fast' }),
    ],
    integrity: [
      {
        id: 'F1',
        kind: 'test_skipped',
        uri: 'file:///w/t.py',
        range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
        message: 'skipped',
        accepted: false,
        reason: '',
        diff: '',
      },
    ],
  });
  expect(statusTooltip(shown, english).replaceAll('\\', '').split(/ *\n+/)).toEqual([
    '**Ship it**',
    'running · edits a.py',
    'iteration 3/10 · 1 of 3 met, 1 waived',
    '$(error) pytest -q passes (R2)',
    '$(shield) F1: skipped',
    '$(circle-slash) it is fast (R3) · waived',
    '$0.12 · 41 s',
  ]);
});

test('a long list is cut, and says so', () => {
  const requirements = Array.from({ length: 12 }, (_, index) => requirement({ id: `r${index}`, number: index + 1 }));
  const lines = statusTooltip(snapshot({ requirements }), english).split('  \n');
  expect(lines.length).toBe(9);
  expect(lines.at(-1)).toContain('and 4 more');
});

test('text of a goal means nothing in Markdown', () => {
  const title = '[x](command:evil) $(zap)';
  expect(statusTooltip(snapshot({ title }), english)).toContain('\\[x\\]\\(command:evil\\) \\$\\(zap\\)');
});

test('another run that asks is named', () => {
  const other = snapshot({ title: 'Go [south]' });
  expect(statusTooltip(snapshot(), english, other)).toMatch(/\$\(bell-dot\) “Go \\\[south\\\]” is waiting for you$/);
  expect(spokenStatus(snapshot(), english, other)).toMatch(/2 of 5 met, “Go \[south\]” is waiting for you$/);
});

test.each([
  [{}, 'Goal Ship it: running, iteration 3/10, 2 of 5 met'],
  [{ status: null, iteration: 0 }, 'Goal Ship it: checked, 2 of 5 met'],
  [
    { status: 'waiting', interrupts: [interrupt()] },
    'Goal Ship it: waiting for you, iteration 3/10, 2 of 5 met, it asks: Run this command?',
  ],
] as const)('spoken: %o', (given, expected) => {
  expect(spokenStatus(snapshot(given), english)).toBe(expected);
});

import { expect, test } from 'vitest';
import { statusAnswer, whyAnswer } from '../src/chatAnswer';
import { english, makeRequirement, makeSnapshot } from './snapshots';

const run = makeSnapshot({
  title: 'Leave *no* trace',
  status: 'capped',
  reason: 'ten iterations are over',
  counts: { met: 1, unmet: 1, unverified: 0, stale: 0, waived: 0, total: 2, regressed: 0 },
  requirements: [
    makeRequirement(1, { text: '`pytest` passes', status: 'met' }),
    makeRequirement(2, { text: 'says hi', status: 'unmet', reason: '<img src=x> [go](command:x)' }),
  ],
});

test('the status is a line for each requirement, and text of others stays text', () => {
  expect(statusAnswer([run], english)).toBe(
    '**Leave \\*no\\* trace**: capped · 1 of 2 met\n\n- ✓ R1 pytest passes (met)\n- ✗ R2 says hi (unmet)',
  );
});

test('why tells what is missing, with its reason', () => {
  const said = whyAnswer([run], '', english);
  expect(said).toContain('ten iterations are over');
  expect(said).toContain('R2 says hi (unmet)');
  expect(said).not.toContain('R1');
  expect(said).toContain('\\<img src=x\\> \\[go\\]\\(command:x\\)');
  expect(whyAnswer([run], 'R1', english)).toContain('R1 pytest passes');
  expect(whyAnswer([makeSnapshot({ complete: true })], '', english)).toContain('Nothing is missing.');
});

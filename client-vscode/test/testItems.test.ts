import { expect, test } from 'vitest';
import type { Evidence } from '../src/protocol';
import { caseItems, printed, requirementItem, requirementLine } from '../src/testItems';
import { makeRequirement, makeSnapshot } from './snapshots';

const at = { uri: 'file:///w/a.py', range: { start: { line: 2, character: 0 }, end: { line: 2, character: 5 } }, message: 'assert 1 == 2' };

test.each([
  ['met', 'passed'],
  ['unmet', 'failed'],
  ['regressed', 'failed'],
  ['unverified', 'unknown'],
  ['stale', 'unknown'],
  ['waived', 'skipped'],
] as const)('a requirement that is %s is %s', (status, standing) => {
  const one = makeRequirement(1, { status, reason: 'it is so' });
  const item = requirementItem(makeSnapshot(), one, () => 'word');
  expect(item.standing).toBe(standing);
  expect(item.label.endsWith(' · word')).toBe(standing === 'unknown' || standing === 'skipped');
  expect(item.messages).toEqual(standing === 'failed' ? [{ text: 'it is so', at: undefined }] : []);
});

test('what failed is said where the evidence says that it did', () => {
  const one = makeRequirement(1, { status: 'unmet', reason: 'a test failed', locations: [at] });
  expect(requirementItem(makeSnapshot(), one, () => '').messages).toEqual([{ text: 'assert 1 == 2', at }]);
  expect(requirementItem(makeSnapshot(), { ...one, renewing: true }, () => '').standing).toBe('queued');
});

test('the line of a requirement is found by its text, else by its number', () => {
  const text = '# Goal\n\n- [ ] `a` passes\n  - [ ] no requirement\n- [x] says hi\n';
  expect(requirementLine(text, makeRequirement(9, { text: 'says hi' }))).toBe(4);
  expect(requirementLine(text, makeRequirement(1, { text: 'reworded' }))).toBe(2);
  expect(requirementLine('', makeRequirement(1))).toBeUndefined();
});

test('the tests of a check are listed, the failed ones first', () => {
  const tests = [
    { name: 'test_a', outcome: 'passed', path: 'test_x.py', line: 3, message: '' },
    { name: 'test_b', outcome: 'error', path: null, line: null, message: 'boom' },
  ];
  const evidence = { observation: { kind: 'checkResult', checkId: 'c1', tests } } as unknown as Pick<Evidence, 'observation'>;
  expect(caseItems(evidence).map(({ label, standing, message }) => [label, standing, message])).toEqual([
    ['test_b', 'errored', 'boom'],
    ['test_a', 'passed', ''],
  ]);
  expect(caseItems({ observation: { kind: 'observedFile' } } as unknown as Pick<Evidence, 'observation'>)).toEqual([]);
});

test('what the checks of a requirement printed is told as a terminal shows it, with how long they took', () => {
  const check = { observation: { kind: 'checkResult', command: 'pytest -q', output: 'F\n1 failed\n', seconds: 1.25 } };
  const file = { observation: { kind: 'observedFile' } };
  const told = printed([check, file] as unknown as Pick<Evidence, 'observation'>[]);
  expect(told).toEqual({ output: '$ pytest -q\r\nF\r\n1 failed\r\n', milliseconds: 1250 });
  expect(printed([])).toEqual({ output: '', milliseconds: 0 });
});

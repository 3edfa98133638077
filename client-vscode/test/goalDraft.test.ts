import { expect, test } from 'vitest';
import { withChecks, withWorker } from '../src/goalDraft';

const DRAFT = '# Ship it\n\n- [ ] `pytest -q` passes\n- [ ] `ruff check .` passes\n- [ ] Ship it\n';

test('what is not picked goes, and only that', () => {
  const text = withChecks(DRAFT, ['pytest -q', 'ruff check .'], ['pytest -q']);
  expect(text).toBe('# Ship it\n\n- [ ] `pytest -q` passes\n- [ ] Ship it\n');
});

test('a check that the objective names itself stays', () => {
  expect(withChecks(DRAFT, ['pytest -q'], ['pytest -q'])).toBe(DRAFT);
});

test('what is picked and was not drafted is added', () => {
  const text = withChecks(DRAFT, ['pytest -q', 'ruff check .', 'make docs'], ['pytest -q', 'ruff check .', 'make docs']);
  expect(text).toBe(DRAFT.replace('- [ ] Ship it\n', '- [ ] Ship it\n- [ ] `make docs` passes\n'));
});

test('backticks in a command are kept', () => {
  expect(withChecks('# T\n', [], ['echo `date`'])).toContain('- [ ] `` echo `date` `` passes');
});

test('the worker stands in the front matter', () => {
  expect(withWorker('# T\n', 'human')).toBe('---\nworker: human\n---\n# T\n');
  expect(withWorker('---\ntimeout: 5m\n---\n# T\n', 'agent')).toBe('---\nworker: agent\ntimeout: 5m\n---\n# T\n');
});

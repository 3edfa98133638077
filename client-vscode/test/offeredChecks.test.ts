import { expect, test } from 'vitest';
import { type OfferedCheck, OfferedChecks } from '../src/offeredChecks';

function check(command: string, given: Partial<OfferedCheck> = {}): OfferedCheck {
  return { command, why: 'found', state: 'found', suggested: true, standing: null, reason: null, ...given };
}

function checks(requirements: readonly string[] = [], known: readonly string[] = []): OfferedChecks {
  return new OfferedChecks(requirements, known, 'your own');
}

const commands = (found: readonly OfferedCheck[]): string[] => found.map(({ command }) => command);

test('what is suggested is taken, and the rest is offered beside it', () => {
  const offered = checks();
  offered.take([check('pytest'), check('ruff check', { suggested: false })]);
  expect(commands(offered.all)).toEqual(['pytest', 'ruff check']);
  expect(commands(offered.taken)).toEqual(['pytest']);
});

test('a check is added, and another one is left out and taken again', () => {
  const offered = checks();
  const found = check('pytest');
  offered.take([found]);
  offered.add('test -f NOTES.md');
  offered.toggle(found);
  expect(offered.all[1]).toMatchObject({ command: 'test -f NOTES.md', state: 'your own' });
  expect(commands(offered.taken)).toEqual(['test -f NOTES.md']);
  offered.add('pytest');
  expect(commands(offered.taken)).toEqual(['pytest', 'test -f NOTES.md']);
  expect(offered.all).toHaveLength(2);
});

test('a run of checks that all pass already would show nothing', () => {
  const offered = checks();
  expect(offered.shows).toBe(false);
  offered.take([check('pytest', { standing: 'green' })]);
  expect(offered.shows).toBe(false);
  offered.add('test -f NOTES.md');
  expect(offered.shows).toBe(true);
  expect(checks(['No errors in Problems']).shows).toBe(true);
});

test('what is known to decide it is taken, and none of the project’s own checks', () => {
  for (const [offered, taken] of [
    [checks(['No errors in Problems']), []],
    [checks([], ['pytest test_a.py']), ['pytest test_a.py']],
  ] as const) {
    offered.take([check('pytest')]);
    offered.take([check('pytest'), check('python -m pytest')]);
    expect(commands(offered.taken)).toEqual(taken);
    expect(commands(offered.all)).toContain('pytest');
  }
});

test('what can’t be run turns out when it is tried, and so does what would do instead', () => {
  const offered = checks();
  offered.take([check('tox'), check('pytest', { suggested: false })]);
  offered.take([check('tox', { suggested: false }), check('pytest', { standing: 'red' }), check('unittest')]);
  expect(commands(offered.taken)).toEqual(['pytest', 'unittest']);
  expect(commands(offered.failing)).toEqual(['pytest']);
});

test('what a person said of a check meanwhile stays', () => {
  const offered = checks();
  const [tests, linter] = [check('pytest'), check('ruff check', { suggested: false })];
  offered.take([tests, linter]);
  offered.toggle(tests);
  offered.toggle(linter);
  offered.add('make');
  offered.take([check('pytest', { standing: 'red' }), linter, check('make', { suggested: false })]);
  expect(commands(offered.taken)).toEqual(['ruff check', 'make']);
});

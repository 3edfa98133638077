import { describe, expect, it } from 'vitest';
import { ofProblem, ofTest } from '../src/knownGoals';

const t = (message: string, ...values: string[]): string => message.replace(/\{(\d)\}/g, (_, n: string) => values[Number(n)] ?? '');

describe('a goal of a problem', () => {
  it('is decided by what Problems says of its file', () => {
    expect(ofProblem('src/a.ts', "Type 'x' is wrong\nbecause of y", t)).toEqual({
      objective: "Fix in src/a.ts: Type 'x' is wrong",
      requirements: ['No errors in Problems for `src/a.ts`'],
      checks: [],
    });
  });

  it('means its file and no other', () => {
    const [requirement] = ofProblem('app/[id]/*.ts', 'wrong', t).requirements;
    expect(requirement).toBe('No errors in Problems for `app/[[]id]/[*].ts`');
  });

  it('names a file with backticks in it', () => {
    expect(ofProblem('a`b.ts', 'wrong', t).requirements).toEqual(['No errors in Problems for `` a`b.ts ``']);
  });

  it('keeps the title short', () => {
    expect(ofProblem('a.ts', 'x'.repeat(500), t).objective.length).toBeLessThan(150);
  });
});

describe('a goal of a test', () => {
  it('is decided by the test alone where its id says how it runs', () => {
    expect(ofTest('test_add', '/w/tests/test_calc.py::TestSum::test_add', 'tests/test_calc.py', 'assert 1 == 2\nmore', t)).toEqual({
      objective: 'Make test_add pass: assert 1 == 2',
      requirements: [],
      checks: ['python -m pytest -q tests/test_calc.py::TestSum::test_add'],
    });
  });

  it('quotes what a shell would read', () => {
    const { checks } = ofTest('t', "test_x.py::test_y[a b'c]", 'test_x.py', '', t);
    expect(checks).toEqual([`python -m pytest -q 'test_x.py::test_y[a b'\\''c]'`]);
  });

  it("is decided by the project's own checks else", () => {
    expect(ofTest('adds', 'src/a.test.ts/adds', 'src/a.test.ts', '', t)).toEqual({ objective: 'Make adds pass', requirements: [], checks: [] });
    expect(ofTest('all', 'test_x.py', 'test_x.py', '', t).checks).toEqual([]);
    expect(ofTest('folder', 'tests', undefined, '', t).checks).toEqual([]);
  });
});

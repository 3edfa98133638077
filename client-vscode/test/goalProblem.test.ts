import { describe, expect, it } from 'vitest';
import { GoalProblem, onGoal, problemOf } from '../src/goalProblem';

const GOAL = 'file:///w/two%20words/GOAL.md';
const SAID = 'two words/GOAL.md, line 3: there is no setting max_iteration, line 9: or so';

describe('problemOf', () => {
  it('knows the place in the goal file that the server names', () => {
    const found = problemOf(GOAL, new Error(SAID));
    expect(found).toBeInstanceOf(GoalProblem);
    expect(found).toMatchObject({ message: SAID, goalUri: GOAL, line: 2 });
  });

  it.each([
    ['another file', 'file:///w/other/GOAL.md', SAID],
    ['no line', GOAL, 'there is no two words/GOAL.md here'],
    ['no goal', undefined, SAID],
  ])('leaves other problems as they are: %s', (_, uri, message) => {
    const problem = new Error(message);
    expect(problemOf(uri, problem)).toBe(problem);
  });

  it('is what work on a goal fails with', async () => {
    await expect(onGoal(GOAL, () => Promise.reject(new Error(SAID)))).rejects.toBeInstanceOf(GoalProblem);
    await expect(onGoal(GOAL, () => Promise.resolve(1))).resolves.toBe(1);
  });
});

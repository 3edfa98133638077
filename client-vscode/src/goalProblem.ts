/** A goal file that can't be used, with the place that is to be mended; `line` counts from 0. */
export class GoalProblem extends Error {
  constructor(
    message: string,
    readonly goalUri: string,
    readonly line: number,
  ) {
    super(message);
  }
}

/** How the server says where a goal file is wrong: its path in the folder, the line, and what is wrong there. */
const AT = /^(?<path>.+?), line (?<line>\d+): /u;

/** What went wrong with a goal: where it is the file's own fault, with the place in it. */
export function problemOf(goalUri: unknown, problem: unknown): Error {
  const error = problem instanceof Error ? problem : new Error(String(problem));
  const { path, line } = AT.exec(error.message)?.groups ?? {};
  const meant = typeof goalUri === 'string' && path !== undefined && readable(goalUri).endsWith(`/${path}`);
  return meant ? new GoalProblem(error.message, goalUri, Math.max(0, Number(line) - 1)) : error;
}

/** Work on a goal, whose problems say where the goal file is to be mended. */
export async function onGoal<T>(goalUri: unknown, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (problem) {
    throw problemOf(goalUri, problem);
  }
}

function readable(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

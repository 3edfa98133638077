import { isAbsolute } from 'node:path';
import type { Offer } from './services';

/** How the server is started. A plain value, so that two of them can be compared. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** What the settings say about the server's program. */
export interface ProgramSettings {
  readonly serverPath: string;
  readonly interpreter: string;
}

const SERVE = ['serve', '--stdio'] as const;

/** A name for the PATH, or an absolute path: anything else would depend on the folder that is open. */
export function isNamed(program: string): boolean {
  return isAbsolute(program) || !/[\\/]/.test(program);
}

/** The setting that names the program: a server path wins over an interpreter; undefined for the extension's own environment. */
export function namingSetting({ serverPath, interpreter }: ProgramSettings): keyof ProgramSettings | undefined {
  return serverPath !== '' ? 'serverPath' : interpreter !== '' ? 'interpreter' : undefined;
}

export function commandOfPath(path: string): ServerCommand {
  return { command: path, args: [...SERVE] };
}

/**
 * Without `-P`, Python would look for modules in the folder that it is started in, which a stranger may have written.
 * `isolated` also leaves out `PYTHON*` variables and the user's own packages.
 */
export function commandOfPython(python: string, isolated: boolean): ServerCommand {
  return { command: python, args: [isolated ? '-I' : '-P', '-m', 'donewhen', ...SERVE] };
}

/**
 * A folder that holds the server and all that it imports. Nothing else that is installed for that Python is seen, so that
 * no other version of anything gets in.
 */
export function commandOfFolder(python: string, folder: string): ServerCommand {
  return { command: python, args: ['-I', '-S', folder, ...SERVE] };
}

/** The words that start `donewhen` itself: what a terminal adds its own to. */
export function programOf({ command, args }: ServerCommand): readonly string[] {
  return [command, ...args.slice(0, -SERVE.length)];
}

/** Why the server can't be started, in words for people, and what they can do about it. */
export class SetupProblem extends Error {
  constructor(
    message: string,
    readonly offers: readonly Offer[],
  ) {
    super(message);
  }
}

/** How the server's version stands to the extension's; undefined where they go together, as those of one minor do. */
export function differenceOf(own: string, server: string | undefined): 'older' | 'newer' | undefined {
  const [ours, theirs] = [own, server ?? ''].map((version) => /^(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number));
  const difference = ours?.map((number, at) => (theirs?.[at] ?? number) - number).find((each) => each !== 0);
  return difference === undefined ? undefined : difference < 0 ? 'older' : 'newer';
}

/** What settings are to a server that runs: taken as it runs, or by another program, now or once that interrupts no run. */
export function taken(wanted: ServerCommand | undefined, running: ServerCommand | undefined, mayRestart: boolean): 'asItRuns' | 'restarted' | 'later' {
  if (running === undefined || JSON.stringify(wanted) === JSON.stringify(running)) {
    return 'asItRuns';
  }
  return mayRestart ? 'restarted' : 'later';
}

/** Settings that only this side reads; the server has an `interpreter` of its own: the one of the project. */
const OWN_SETTINGS: ReadonlySet<string> = new Set([
  'serverPath',
  'interpreter',
  'interpreters',
  'stateDir',
  'trace',
  'inlayHints',
  'addToPath',
  'testExplorer',
  'markChanges',
  'showTimelineOnStart',
]);

/** The settings as the server gets them. What is empty is left out: the server's own defaults hold. */
export function serverSettings(
  configured: Readonly<Record<string, unknown>>,
  projectInterpreters: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const said = Object.entries(configured).filter(([name, value]) => !OWN_SETTINGS.has(name) && !isEmpty(value));
  const settings: Record<string, unknown> = Object.fromEntries(said);
  if (Object.keys(projectInterpreters).length > 0) {
    settings['interpreters'] = projectInterpreters;
  }
  return settings;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

const DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000];
const CALM_MS = 3 * 60_000;

/** How long to wait before the server is started again, after each crash. */
export class Backoff {
  private crashes: number[] = [];

  /** The delay in milliseconds; undefined where it crashes too often to go on by itself. */
  crashed(now: number): number | undefined {
    this.crashes = [...this.crashes.filter((at) => now - at < CALM_MS), now];
    return DELAYS_MS[this.crashes.length - 1];
  }

  reset(): void {
    this.crashes = [];
  }
}

import * as vscode from 'vscode';
import { visible } from './askedText';
import { choicesOf } from './interruptChoices';
import { isOpen, type Open, openIn, send } from './interrupts';
import { confirm } from './notices';
import type { RunLimitsArgument, Snapshot } from './protocol';
import type { Services } from './services';
import { isActive } from './snapshots';

export type Limits = Omit<RunLimitsArgument, 'runId'>;

/** The goals that were just started here: their question is a dialog, and no notification besides. */
const started = new Set<string>();

/** Whether a dialog asks, or is about to ask, for consent to this run: nothing else needs to. */
export function asksByDialog(goalUri: string | null): boolean {
  return goalUri !== null && started.has(goalUri);
}

/**
 * Starts a run, and puts the question that it begins with in a dialog: the person has just clicked, and a notification
 * would hide by itself. A start of which nothing is asked goes on without one. Gives the run that was begun last, if any.
 */
export async function startAndAsk(
  services: Services,
  goalUri: string,
  begin: (limits: Limits) => Promise<{ readonly runId: string } | undefined>,
): Promise<{ readonly runId: string } | undefined> {
  let limits: Limits | undefined = {};
  let run: { readonly runId: string } | undefined;
  started.add(goalUri);
  try {
    while (limits !== undefined) {
      run = await begin(limits);
      const open = run === undefined ? undefined : await consentOf(services, run.runId);
      limits = open === undefined ? undefined : await ask(services, open, limits);
    }
    return run;
  } finally {
    started.delete(goalUri);
  }
}

/** Shows the dialog; other limits to begin again with, where the person changed them. */
async function ask(services: Services, open: Open, known: Limits): Promise<Limits | undefined> {
  const { yes, no } = choicesOf(open.interrupt, vscode.l10n.t);
  const change = vscode.l10n.t('Change Limits…');
  for (;;) {
    const pressed = await confirm(open.interrupt.title, visible(open.interrupt.preview), [yes.label, change]);
    if (!isOpen(services, open)) {
      return undefined; // Answered elsewhere meanwhile.
    }
    const limits = pressed === change ? await askLimits(services.snapshots.get(open.runId), known) : undefined;
    if (pressed === change && limits === undefined) {
      continue;
    }
    await send(services, open, limits === undefined && pressed === yes.label ? yes.answer : no.answer);
    if (limits !== undefined) {
      await until(services, open.runId, (run) => !isActive(run));
    }
    return limits;
  }
}

/** The limits one after the other; undefined where the person leaves. */
async function askLimits(run: Snapshot | undefined, known: Limits): Promise<Limits | undefined> {
  const steps = run === undefined ? [] : limitSteps(run.limits);
  let limits = known;
  for (const { title, value, set } of steps) {
    const given = await askLimit(title, value);
    if (given === undefined) {
      return undefined;
    }
    limits = { ...limits, ...set(given) };
  }
  return limits;
}

interface LimitStep {
  readonly title: string;
  readonly value: number | null;
  readonly set: (given: Given) => Limits;
}

function limitSteps({ maxIterations, timeoutSeconds, budgetUsd }: Snapshot['limits']): LimitStep[] {
  return [
    {
      title: vscode.l10n.t('Iterations at most: turns of the worker (1/3)'),
      value: maxIterations,
      set: (given) => ({ maxIterations: changed(given, (count) => Math.max(1, Math.round(count))) }),
    },
    {
      title: vscode.l10n.t('Minutes at most (2/3)'),
      value: timeoutSeconds === null ? null : timeoutSeconds / 60,
      set: (given) => ({ timeoutSeconds: changed(given, (count) => count * 60) }),
    },
    {
      title: vscode.l10n.t('US dollars at most (3/3)'),
      value: budgetUsd,
      set: (given) => ({ budgetUsd: given }),
    },
  ];
}

type Given = number | 'unlimited';

function changed(given: Given, of: (value: number) => number): Given {
  return given === 'unlimited' ? given : of(given);
}

async function askLimit(title: string, value: number | null): Promise<Given | undefined> {
  const given = await vscode.window.showInputBox({
    title,
    value: value === null ? '' : String(value),
    prompt: vscode.l10n.t('Leave it empty for no limit.'),
    ignoreFocusOut: true,
    validateInput: (text) =>
      text.trim() === '' || Number(text) > 0 ? undefined : vscode.l10n.t('A number greater than 0'),
  });
  return given === undefined ? undefined : given.trim() === '' ? 'unlimited' : Number(given);
}

/** The question that a start asks, once it does; undefined where the run goes on, or ends, without it. */
async function consentOf(services: Services, runId: string): Promise<Open | undefined> {
  const question = (run: Snapshot): Open | undefined => openIn(run).find((one) => one.interrupt.about === 'start');
  const unasked = (run: Snapshot): boolean => run.iteration > 0 || run.start?.acceptedBy !== null;
  const decided = (run: Snapshot): boolean => question(run) !== undefined || !isActive(run) || unasked(run);
  const run = await until(services, runId, decided);
  return question(run);
}

/** The run, as soon as it is as wanted. */
export function until({ snapshots }: Services, runId: string, holds: (run: Snapshot) => boolean): Promise<Snapshot> {
  return new Promise((resolve) => {
    const look = (): void => {
      const run = snapshots.get(runId);
      if (run !== undefined && holds(run)) {
        watching.dispose();
        resolve(run);
      }
    };
    const watching = snapshots.onDidChange(look);
    look();
  });
}

import * as vscode from 'vscode';
import { isOpen, send } from './interrupts';
import { confirm } from './notices';
import { visible } from './plainText';
import type { CommandArguments, Snapshot } from './protocol';
import { type Open, openIn } from './questions';
import type { Services } from './services';
import { askNumber } from './targets';

type ConsentServices = Pick<Services, 'request' | 'snapshots'>;

export type Limits = Omit<CommandArguments['donewhen.run.resume'], 'runId'>;

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
  services: ConsentServices,
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
async function ask(services: ConsentServices, open: Open, known: Limits): Promise<Limits | undefined> {
  const [yes, no] = open.asked.choices;
  if (yes === undefined || no === undefined) {
    return undefined;
  }
  const change = vscode.l10n.t('Change Limits…');
  for (;;) {
    const pressed = await confirm(open.interrupt.title, visible(open.interrupt.preview), [yes.label, change]);
    if (!isOpen(services, open)) {
      return undefined; // Answered elsewhere meanwhile.
    }
    const limits = pressed === change ? await askLimits(services.snapshots.get(open.run.runId), known) : undefined;
    if (pressed === change && limits === undefined) {
      continue;
    }
    await send(services, open, limits === undefined && pressed === yes.label ? yes : no);
    if (limits !== undefined) {
      await until(services, open.run.runId, ({ view }) => !view.active);
    }
    return limits;
  }
}

/** The limits one after the other; undefined where the person leaves. */
async function askLimits(run: Snapshot | undefined, known: Limits): Promise<Limits | undefined> {
  if (run === undefined) {
    return known;
  }
  const { maxIterations, timeoutSeconds, budgetUsd } = run.limits;
  const turns = await askNumber(vscode.l10n.t('Iterations at most: turns of the worker (1/3)'), maxIterations);
  const minutes = turns && (await askNumber(vscode.l10n.t('Minutes at most (2/3)'), timeoutSeconds === null ? null : timeoutSeconds / 60));
  const dollars = minutes && (await askNumber(vscode.l10n.t('US dollars at most (3/3)'), budgetUsd));
  if (turns === undefined || minutes === undefined || dollars === undefined) {
    return undefined;
  }
  return {
    ...known,
    maxIterations: turns === 'unlimited' ? turns : Math.max(1, Math.round(turns)),
    timeoutSeconds: minutes === 'unlimited' ? minutes : minutes * 60,
    budgetUsd: dollars,
  };
}

/** The question that a start asks, once it does; undefined where the run goes on, or ends, without it. */
async function consentOf(services: ConsentServices, runId: string): Promise<Open | undefined> {
  const question = (run: Snapshot): Open | undefined => openIn(run).find(({ interrupt }) => interrupt.about === 'start');
  const unasked = (run: Snapshot): boolean => run.iteration > 0 || run.start?.acceptedBy !== null;
  const decided = (run: Snapshot): boolean => question(run) !== undefined || !run.view.active || unasked(run);
  const run = await until(services, runId, decided);
  return question(run);
}

/** The run, as soon as it is as wanted. */
export function until({ snapshots }: Pick<Services, 'snapshots'>, runId: string, holds: (run: Snapshot) => boolean): Promise<Snapshot> {
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

import * as vscode from 'vscode';
import { choicesOf, oneLine } from './interruptChoices';
import { answerInWords, isOpen, type Open, openIn, openInterrupts, send, showAndAsk } from './interrupts';
import { withoutLinks } from './messageText';
import type { Snapshot } from './protocol';
import type { Services } from './services';
import { isActive, isHalted } from './snapshots';

const LONGEST = 400;

/** Something to say with buttons; it is over once a button is pressed, or once it no longer holds. */
interface Notice {
  readonly key: string;
  readonly message: string;
  readonly buttons: readonly Button[];
  holds(): boolean;
}

interface Button {
  readonly label: string;
  perform(): Promise<void> | Thenable<unknown>;
}

/** Tells a person what waits for them, one notification at a time. */
export function registerNotifications(services: Services): vscode.Disposable {
  const said = new Set<string>();
  let busy = false;
  const next = (): void => {
    const now = notices(services);
    // What is over may come again: a run that went on can be interrupted once more.
    for (const key of [...said].filter((each) => now.every((one) => one.key !== each))) {
      said.delete(key);
    }
    const notice = now.find((one) => !said.has(one.key));
    if (busy || notice === undefined) {
      return;
    }
    busy = true;
    said.add(notice.key);
    void show(services, notice).finally(() => {
      busy = false;
      next();
    });
  };
  next();
  return vscode.Disposable.from(
    services.snapshots.onDidChange(next),
    services.client.onDidStart(next),
    vscode.workspace.onDidGrantWorkspaceTrust(next),
  );
}

function notices(services: Services): Notice[] {
  if (!vscode.workspace.isTrusted) {
    return [];
  }
  return [
    ...openInterrupts(services)
      .filter((open) => goesOn(services, open))
      .map((open) => interruptNotice(services, open)),
    ...newestOfGoals(services.snapshots.all()).flatMap((run) => standing(services, run)),
  ];
}

function interruptNotice(services: Services, open: Open): Notice {
  const { runId, interrupt } = open;
  const choices = choicesOf(interrupt, vscode.l10n.t);
  const yesAndNo = [choices.yes, choices.no].map((choice) => ({
    label: choice.label,
    perform: () => send(services, open, choice.answer),
  }));
  const words = { label: vscode.l10n.t('Answer…'), perform: () => answerInWords(services, open) };
  const show = { label: vscode.l10n.t('Show'), perform: () => showAndAsk(services, open) };
  return {
    key: `${runId}/${interrupt.id}/${interrupt.askedAt}`,
    message: oneLine(interrupt, LONGEST),
    buttons: choices.text ? [words, show] : [...yesAndNo, show],
    holds: () => isOpen(services, open) && goesOn(services, open),
  };
}

function goesOn(services: Services, { runId }: Open): boolean {
  const run = services.snapshots.get(runId);
  return run !== undefined && isActive(run);
}

/** Runs that a crash interrupted, or that a plugin halted, and that a person may let go on. */
function standing(services: Services, run: Snapshot): Notice[] {
  const target = { runId: run.runId, goalUri: run.goalUri };
  const resume = {
    label: vscode.l10n.t('Resume'),
    perform: () => vscode.commands.executeCommand('donewhen.resume', target),
  };
  const since = `${run.runId}/${run.status ?? ''}/${run.iteration}`;
  const holds = (): boolean => services.snapshots.get(run.runId)?.status === run.status;
  if (run.status === 'interrupted') {
    return [{ key: since, ...interrupted(services, run, resume), holds }];
  }
  if (isHalted(run) && run.halt !== null) {
    const message = vscode.l10n.t('“{0}” waits: {1}: {2}', run.title, run.halt.plugin, run.halt.reason);
    return [{ key: `${since}/${run.halt.reason}`, message, buttons: [resume], holds }];
  }
  return [];
}

/** With what it asked just then, which can be answered before it goes on. */
function interrupted(services: Services, run: Snapshot, resume: Button): Pick<Notice, 'message' | 'buttons'> {
  const [open] = openIn(run);
  if (open === undefined) {
    return { message: vscode.l10n.t('The run of “{0}” was interrupted.', run.title), buttons: [resume] };
  }
  const asked = oneLine(open.interrupt, LONGEST);
  const show = { label: vscode.l10n.t('Show'), perform: () => showAndAsk(services, open) };
  const message = vscode.l10n.t('The run of “{0}” was interrupted while it asked: {1}', run.title, asked);
  return { message, buttons: [resume, show] };
}

function newestOfGoals(newestFirst: readonly Snapshot[]): Snapshot[] {
  const seen = new Set<string>();
  return newestFirst.filter((run) => {
    const goal = run.goalUri ?? run.runId;
    return run.status !== null && !seen.has(goal) && seen.add(goal);
  });
}

/** Resolves once it was answered, closed, or is over; a button that is pressed later still counts. */
async function show(services: Services, notice: Notice): Promise<void> {
  const labels = notice.buttons.map((button) => button.label);
  const pressed = vscode.window.showInformationMessage(withoutLinks(notice.message), ...labels).then(async (label) => {
    try {
      await notice.buttons.find((button) => button.label === label)?.perform();
    } catch (problem) {
      void vscode.window.showErrorMessage(withoutLinks(problem instanceof Error ? problem.message : String(problem)));
    }
  });
  await Promise.race([pressed, over(services, notice)]);
}

function over(services: Services, notice: Notice): Promise<void> {
  return new Promise((resolve) => {
    const watching = services.snapshots.onDidChange(() => {
      if (!notice.holds()) {
        watching.dispose();
        resolve();
      }
    });
  });
}

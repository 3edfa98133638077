import * as vscode from 'vscode';
import { harmless, messageOf, withoutOpenBracket } from './plainText';
import type { Offer } from './services';

/** VS Code shows three notifications within 800 ms; those that come after them go into its list alone. */
const APART_MS = 900;
/** The editor cuts a notification's text after 1,000 characters, and the links of a question stand at its end. */
const LONGEST = 700;
/** A command of ours alone: what a link in a question does. */
const PRESS = 'donewhen.press';

/** When the next notification can be shown: the editor has one place for them, whoever shows them. */
let free = 0;

/** Resolves once the editor would let a person see one more, in the order in which turns were asked for. */
async function turn(): Promise<void> {
  const now = performance.now();
  const mine = Math.max(now, free);
  free = mine + APART_MS;
  if (mine > now) {
    await new Promise((resolve) => setTimeout(resolve, mine - now));
  }
}

interface Told {
  readonly buttons?: readonly Offer[];
  /** Whether it is still to be said once the editor would show it. */
  readonly holds?: () => boolean;
  /** Once a button was pressed, or the notification closed; never where it was only hidden. */
  readonly closed?: () => void;
}

const SHOWN = {
  information: vscode.window.showInformationMessage,
  warning: vscode.window.showWarningMessage,
  error: vscode.window.showErrorMessage,
} as const;

/**
 * Says something, with what can be done about it. A notification hides by itself, and stays where few people look:
 * so nothing waits for this one.
 */
export function say(kind: keyof typeof SHOWN, message: string, told: Told = {}): void {
  void said(kind, message, told);
}

/** The same; resolves once a button was pressed and what it does is done, or once it was closed or never shown. */
export async function said(kind: keyof typeof SHOWN, message: string, { buttons = [], holds, closed }: Told = {}): Promise<void> {
  await turn();
  const shown = holds?.() === false ? undefined : SHOWN[kind](message, ...buttons.map(({ label }) => label));
  const pressed = await shown;
  closed?.();
  await told(Promise.resolve(buttons.find(({ label }) => label === pressed)?.perform()));
}

/** A command never throws at the editor: what goes wrong is said in a sentence, in which words of others stay words. */
export async function told(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (problem) {
    if (!(problem instanceof vscode.CancellationError)) {
      say('error', harmless(messageOf(problem)));
    }
  }
}

/** A dialog, for a question that a person who has just clicked waits for: it stays until it is answered. */
export async function confirm(message: string, detail: string, buttons: readonly string[]): Promise<string | undefined> {
  return vscode.window.showInformationMessage(message, { modal: true, detail }, ...buttons);
}

const questions = new Map<number, readonly Offer[]>();
let last = 0;

/** Lets the links of questions work. */
export function registerQuestions(): vscode.Disposable {
  return vscode.commands.registerCommand(PRESS, (question: number, offer: number) =>
    told(Promise.resolve(questions.get(question)?.[offer]?.perform())),
  );
}

/**
 * A question as a notification that stays in view, and that is gone, from the list of notifications as well, once it is
 * `over` or the person puts it off. The editor takes back no notification but one of progress, which has no buttons: so
 * what can be answered are links in its text.
 */
export async function ask(message: string, offers: readonly Offer[], holds: () => boolean, over: Promise<unknown>): Promise<void> {
  await turn();
  if (!holds()) {
    return;
  }
  const question = ++last;
  questions.set(question, offers);
  const text = withoutOpenBracket(message.slice(0, LONGEST));
  const links = offers.map(({ label }, offer) => {
    const given = encodeURIComponent(JSON.stringify([question, offer]));
    return `[${label}](command:${PRESS}?${given} "${label}")`;
  });
  const location = vscode.ProgressLocation.Notification;
  // The editor writes this on the button; one that takes no words here would write "Cancel", which is as true.
  const cancellable = vscode.l10n.t('Later') as unknown as boolean;
  try {
    await vscode.window.withProgress({ location, cancellable }, (progress, token) => {
      // Without a share that is done the bar would run as if something went on.
      progress.report({ message: `${text} \u2003${links.join(' \u00a0·\u00a0 ')}`, increment: 0 });
      return Promise.race([over, new Promise<void>((resolve) => token.onCancellationRequested(() => { resolve(); }))]);
    });
  } finally {
    questions.delete(question);
  }
}

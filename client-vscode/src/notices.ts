import * as vscode from 'vscode';
import { harmless } from './askedText';
import { NoticePace } from './noticePace';

type Show = (message: string, ...buttons: string[]) => Thenable<string | undefined>;

/** The editor has one place for them, whoever shows them. */
const pace = new NoticePace();

/**
 * Shows a notification as soon as the editor would let a person see it, unless it no longer holds by then.
 *
 * @returns the button that was pressed; nothing when it was closed, or never shown.
 */
async function notify(show: Show, message: string, buttons: readonly string[], holds: () => boolean): Promise<string | undefined> {
  await pace.turn();
  return holds() ? show(message, ...buttons) : undefined;
}

/** What a person may want to know. */
export function inform(message: string, buttons: readonly string[] = [], holds = always): Promise<string | undefined> {
  return notify(vscode.window.showInformationMessage, message, buttons, holds);
}

/** Resolves once the editor would let a person see one more notification. */
export function noticeTurn(): Promise<void> {
  return pace.turn();
}

/** A button of a notification, which does something by itself. */
export interface Offer {
  readonly label: string;
  perform(): Thenable<unknown>;
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
export function say(kind: keyof typeof SHOWN, message: string, { buttons = [], holds = always, closed }: Told = {}): void {
  const labels = buttons.map((button) => button.label);
  const done = async (): Promise<void> => {
    const pressed = await notify(SHOWN[kind], message, labels, holds);
    closed?.();
    await buttons.find((button) => button.label === pressed)?.perform();
  };
  done().catch((problem: unknown) => {
    say('error', harmless(problem instanceof Error ? problem.message : String(problem)));
  });
}

/** What went wrong. */
export function tellError(message: string, buttons: readonly string[] = [], holds = always): Promise<string | undefined> {
  return notify(vscode.window.showErrorMessage, message, buttons, holds);
}

/** A dialog, for a question that a person who has just clicked waits for: it stays until it is answered. */
export async function confirm(message: string, detail: string, buttons: readonly string[]): Promise<string | undefined> {
  return vscode.window.showInformationMessage(message, { modal: true, detail }, ...buttons);
}

function always(): boolean {
  return true;
}

import * as vscode from 'vscode';
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

/** What a person has to look at. */
export function warn(message: string, buttons: readonly string[] = [], holds = always): Promise<string | undefined> {
  return notify(vscode.window.showWarningMessage, message, buttons, holds);
}

/** What went wrong. */
export function tellError(message: string, buttons: readonly string[] = [], holds = always): Promise<string | undefined> {
  return notify(vscode.window.showErrorMessage, message, buttons, holds);
}

function always(): boolean {
  return true;
}

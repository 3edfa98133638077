import * as vscode from 'vscode';

interface TextAsked {
  readonly title: string;
  readonly prompt?: string;
  readonly value?: string;
  readonly placeHolder?: string;
  readonly password?: true;
  /** What the text has to be like, without the spaces around it; and what is said of one that is not. */
  readonly like?: RegExp;
  readonly wrong?: string;
}

/** Asks for a text, in a box that stays until it is answered or left; undefined where the person leaves. */
export async function askText({ like, wrong = '', ...box }: TextAsked): Promise<string | undefined> {
  const validateInput = (given: string): string | undefined => (like?.test(given.trim()) === false ? wrong : undefined);
  return (await vscode.window.showInputBox({ ...box, ignoreFocusOut: true, validateInput }))?.trim();
}

/** Not nothing. */
export const SOMETHING = /\S/u;

/** Asks why; the reason is kept with the run. */
export function askReason(title: string): Promise<string | undefined> {
  const prompt = vscode.l10n.t('The reason is kept with the run.');
  return askText({ title, prompt, like: SOMETHING, wrong: vscode.l10n.t('A reason is needed.') });
}

import * as vscode from 'vscode';
import { inform } from './notices';

/** What a person makes of a command: in a box, or in an editor where it has several lines; undefined where they leave. */
export async function editCommand(before: string): Promise<string | undefined> {
  if (before.includes('\n')) {
    return editLines(before);
  }
  return vscode.window.showInputBox({
    title: vscode.l10n.t('What should run instead?'),
    value: before,
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' ? vscode.l10n.t('It can’t be empty: deny it instead.') : undefined),
  });
}

/** A box would make one line of them. */
async function editLines(before: string): Promise<string | undefined> {
  const document = await vscode.workspace.openTextDocument({ content: before, language: 'shellscript' });
  await vscode.window.showTextDocument(document, { preview: false });
  const run = vscode.l10n.t('Run It');
  const message = vscode.l10n.t('Edit the command, then run it as it stands in the editor.');
  const pressed = await inform(message, [run, vscode.l10n.t('Cancel')]);
  const after = document.getText();
  await closeUnsaved(document);
  return pressed === run && after.trim() !== '' ? after : undefined;
}

/** Without asking whether to save what was only typed to be run. */
async function closeUnsaved(document: vscode.TextDocument): Promise<void> {
  if (!document.isClosed) {
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  }
}

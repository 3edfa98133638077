import * as vscode from 'vscode';
import { ask } from './questions';

/** Lets a person edit a command, in a box, or in an editor where it has several lines; `run` gets what they made of it. */
export async function editCommand(before: string, run: (after: string) => Promise<void>): Promise<void> {
  if (before.includes('\n')) {
    return editLines(before, run);
  }
  const after = await vscode.window.showInputBox({
    title: vscode.l10n.t('What should run instead?'),
    value: before,
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' ? vscode.l10n.t('It can’t be empty. To run nothing, deny it.') : undefined),
  });
  if (after !== undefined) {
    await run(after);
  }
}

/** A box would make one line of them. */
async function editLines(before: string, run: (after: string) => Promise<void>): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ content: before, language: 'shellscript' });
  await vscode.window.showTextDocument(document, { preview: false });
  const message = vscode.l10n.t('Edit the command, then run it as it stands in the editor.');
  const perform = async (): Promise<void> => {
    const after = document.getText();
    await closeUnsaved(document);
    if (after.trim() !== '') {
      await run(after);
    }
  };
  const cancel = { label: vscode.l10n.t('Cancel'), perform: () => closeUnsaved(document) };
  const closed = new Promise<void>((resolve) => {
    const watching = vscode.workspace.onDidCloseTextDocument((one) => {
      if (one === document) {
        watching.dispose();
        resolve();
      }
    });
  });
  // In view for as long as the editor is: nothing else runs what stands there.
  void ask(message, [{ label: vscode.l10n.t('Run It'), perform }, cancel], () => !document.isClosed, closed);
}

/** Without asking whether to save what was only typed to be run. */
async function closeUnsaved(document: vscode.TextDocument): Promise<void> {
  if (!document.isClosed) {
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  }
}

import * as vscode from 'vscode';

/** A goal is read from the disk: what a person just wrote goes there first. */
export async function saveGoal(goalUri: unknown): Promise<void> {
  if (isUnsaved(goalUri)) {
    await opened(goalUri)?.save();
  }
}

/** Whether the editor holds something of the file that the disk does not. */
export function isUnsaved(uri: unknown): boolean {
  return opened(uri)?.isDirty === true;
}

function opened(uri: unknown): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
}

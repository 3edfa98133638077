import * as vscode from 'vscode';

/** A goal is read from the disk: what a person just wrote goes there first. */
export async function saveGoal(goalUri: unknown): Promise<void> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === goalUri);
  if (open?.isDirty === true) {
    await open.save();
  }
}

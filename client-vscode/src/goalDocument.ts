import * as vscode from 'vscode';

let drafting: Promise<unknown> = Promise.resolve();

/** Keeps `saveGoal` waiting until a draft that is shown already is complete and on the disk. */
export async function whileDrafting(work: Promise<void>): Promise<void> {
  drafting = Promise.allSettled([drafting, work]);
  await work;
}

/** A goal is read from the disk: what a person just wrote goes there first. */
export async function saveGoal(goalUri: unknown): Promise<void> {
  await drafting;
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === goalUri);
  if (open?.isDirty === true) {
    await open.save();
  }
}

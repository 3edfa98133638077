import * as vscode from 'vscode';
import type { Services } from './services';
import { GOALS, isGoalFile, NOT_GOALS } from './targets';

/**
 * Starts the server once there is a goal file: one that stands in the workspace, that is made later, or that is opened.
 * What is asked for in the view or by a command starts it besides; a window without goals has no server.
 */
export function registerWanted({ client, log }: Services): vscode.Disposable {
  const watcher = vscode.workspace.createFileSystemWatcher(GOALS, false, true, true);
  const opened = (document: vscode.TextDocument): void => {
    if (isGoalFile(document.uri)) {
      client.want();
    }
  };
  const look = async (): Promise<void> => {
    try {
      if ((await standsOnTop()) || (await vscode.workspace.findFiles(GOALS, NOT_GOALS, 1)).length > 0) {
        client.want();
      }
    } catch (problem) {
      log.warn(`the goal files are not known: ${String(problem)}`);
    }
  };
  vscode.workspace.textDocuments.forEach(opened);
  void look();
  return vscode.Disposable.from(
    watcher,
    watcher.onDidCreate(() => {
      client.want();
    }),
    vscode.workspace.onDidOpenTextDocument(opened),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void look()),
  );
}

/** Asks the file system, which knows before the editor's search does. */
async function standsOnTop(): Promise<boolean> {
  const names = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => vscode.Uri.joinPath(uri, 'GOAL.md'));
  const found = await Promise.allSettled(names.map((uri) => vscode.workspace.fs.stat(uri)));
  return found.some(({ status }) => status === 'fulfilled');
}

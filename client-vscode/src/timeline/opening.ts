import * as vscode from 'vscode';
import { told } from '../told';
import type { Action } from './messages';

/** Opens what a button of the page is about. */
export function open(runId: string, action: Action): void {
  const { executeCommand } = vscode.commands;
  switch (action.kind) {
    case 'step':
      void executeCommand('donewhen.openStep', { runId, stepId: action.stepId, diff: action.diff });
      break;
    case 'file':
      void told(openFile(action.uri));
      break;
    case 'evidence':
      void executeCommand('donewhen.openEvidence', { runId, evidenceId: action.evidenceId });
      break;
    case 'change':
      void executeCommand('donewhen.openIterationDiff', { runId, iteration: action.number, uri: action.uri });
      break;
  }
}

/** A file of the workspace, and nothing else that a page may name. */
async function openFile(uri: string): Promise<void> {
  const file = vscode.Uri.parse(uri, true);
  if (vscode.workspace.getWorkspaceFolder(file) !== undefined) {
    await vscode.window.showTextDocument(file, { preview: true });
  }
}

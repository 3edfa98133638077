import * as vscode from 'vscode';
import { OWN_SOURCE } from './editorProblems';
import type { Services } from './services';
import { setKnownGoal } from './setGoal';
import { isGoalFile } from './targets';

/** The problem that a goal is made of. */
export interface Problem {
  readonly uri: vscode.Uri;
  readonly message: string;
}

/** Offers `Fix This` on the errors that other tools report: what Problems says decides when it is done. */
export function registerFixThis(): vscode.Disposable {
  const provider: vscode.CodeActionProvider = {
    provideCodeActions: ({ uri }, _range, { diagnostics }) =>
      isGoalFile(uri) || vscode.workspace.getWorkspaceFolder(uri) === undefined
        ? []
        : diagnostics.filter(isFixable).map((one) => actionFor(uri, one)),
  };
  const metadata = { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] };
  return vscode.languages.registerCodeActionsProvider({ scheme: 'file' }, provider, metadata);
}

/** A mark of ours stands for a requirement, and has a goal already. */
function isFixable({ severity, source }: vscode.Diagnostic): boolean {
  return severity === vscode.DiagnosticSeverity.Error && source !== OWN_SOURCE;
}

function actionFor(uri: vscode.Uri, diagnostic: vscode.Diagnostic): vscode.CodeAction {
  const title = vscode.l10n.t('Done When: Fix This');
  const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
  const problem: Problem = { uri, message: diagnostic.message };
  action.command = { command: 'donewhen.fixThis', title, arguments: [problem] };
  action.diagnostics = [diagnostic];
  return action;
}

/** Makes a goal of the problem. */
export async function fixThis(services: Services, { uri, message }: Problem): Promise<void> {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (folder === undefined) {
    return;
  }
  const file = vscode.workspace.asRelativePath(uri, false);
  const [line = ''] = message.split('\n', 1);
  await setKnownGoal(services, folder, vscode.l10n.t('Fix in {0}: {1}', file, line), [`No errors in Problems for \`${file}\``]);
}

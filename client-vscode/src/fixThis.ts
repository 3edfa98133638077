import * as vscode from 'vscode';
import { OWN_SOURCE } from './editorProblems';
import { type KnownGoal, ofProblem, ofTest } from './knownGoals';
import type { Services } from './services';
import { setKnownGoal } from './setGoal';
import { isGoalFile } from './targets';

/** An error that Problems shows. */
interface Problem {
  readonly uri: vscode.Uri;
  readonly message: string;
}

/** What a menu of the Testing view hands over: a test of any extension, or one of the messages of a failure. */
type FromTests = vscode.TestItem | { readonly test: vscode.TestItem; readonly message: vscode.TestMessage };

export type Fixable = Problem | FromTests;

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

/** Makes a goal of a problem, or of a test that fails. */
export async function fixThis(services: Services, what: Fixable): Promise<void> {
  const uri = 'test' in what ? what.test.uri : what.uri;
  const folder = uri === undefined ? vscode.workspace.workspaceFolders?.[0] : vscode.workspace.getWorkspaceFolder(uri);
  if (folder !== undefined) {
    await setKnownGoal(services, folder, goalOf(what));
  }
}

function goalOf(what: Fixable): KnownGoal {
  if ('test' in what) {
    const { message } = what.message;
    return ofTestItem(what.test, typeof message === 'string' ? message : message.value);
  }
  return 'message' in what ? ofProblem(relative(what.uri), what.message, vscode.l10n.t) : ofTestItem(what, '');
}

function ofTestItem({ id, label, uri }: vscode.TestItem, message: string): KnownGoal {
  return ofTest(label, id, uri === undefined ? undefined : relative(uri), message, vscode.l10n.t);
}

function relative(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, false);
}

import * as vscode from 'vscode';
import { branchOf, fromBranch, fromClipboard, fromSelection, fromTodo } from './objectives';

/** An objective that can be taken as it stands, and where it comes from. */
export interface Likely {
  readonly objective: string;
  readonly source: string;
  readonly icon: string;
}

const MOST_PROBLEMS = 3;

/** What a person probably wants here, judging by what is before them; the most particular first. */
export async function likelyObjectives(folder: vscode.WorkspaceFolder): Promise<Likely[]> {
  const found = [...inEditor(vscode.window.activeTextEditor), ...inProblems(folder)];
  const [copied, branch] = await Promise.all([inClipboard(), branchName(folder)]);
  return once([...found, ...copied, ...branch]);
}

function inEditor(editor: vscode.TextEditor | undefined): Likely[] {
  if (editor?.document.uri.scheme !== 'file') {
    return [];
  }
  const { document, selection } = editor;
  const selected = selection.isEmpty ? undefined : fromSelection(document.getText(selection));
  const todo = fromTodo(document.lineAt(selection.active.line).text);
  return [
    ...likely(selected, vscode.l10n.t('selected text'), 'selection'),
    ...likely(todo, vscode.l10n.t('the comment at the cursor'), 'checklist'),
  ];
}

/** Errors that the editor shows, those of the file in view first. */
function inProblems(folder: vscode.WorkspaceFolder): Likely[] {
  const active = vscode.window.activeTextEditor?.document.uri.toString();
  return vscode.languages
    .getDiagnostics()
    .filter(([uri]) => vscode.workspace.getWorkspaceFolder(uri)?.uri.toString() === folder.uri.toString())
    .flatMap(([uri, problems]) => problems.filter(isError).map((one) => ({ uri, one })))
    .sort((a, b) => Number(b.uri.toString() === active) - Number(a.uri.toString() === active))
    .slice(0, MOST_PROBLEMS)
    .flatMap(({ uri, one }) => {
      const where = `${vscode.workspace.asRelativePath(uri)}:${one.range.start.line + 1}`;
      const [message = ''] = one.message.split('\n');
      return likely(vscode.l10n.t('Fix {0}: {1}', where, message), vscode.l10n.t('an error in Problems'), 'error');
    });
}

function isError(one: vscode.Diagnostic): boolean {
  return one.severity === vscode.DiagnosticSeverity.Error && one.source !== 'donewhen';
}

async function inClipboard(): Promise<Likely[]> {
  // A browser asks for leave, or complains, whenever it is read.
  if (vscode.env.uiKind === vscode.UIKind.Web) {
    return [];
  }
  return likely(fromClipboard(await vscode.env.clipboard.readText()), vscode.l10n.t('the clipboard'), 'clippy');
}

async function branchName(folder: vscode.WorkspaceFolder): Promise<Likely[]> {
  const head = await headOf(folder.uri);
  const name = head === undefined ? undefined : branchOf(head);
  const objective = name === undefined ? undefined : fromBranch(name);
  return likely(objective, vscode.l10n.t('the branch {0}', name ?? ''), 'git-branch');
}

/** The text of `HEAD`; in a worktree `.git` is a file that says where it is. */
async function headOf(folder: vscode.Uri): Promise<string | undefined> {
  const git = vscode.Uri.joinPath(folder, '.git');
  const linked = await textOf(git);
  const place = linked === undefined ? git : vscode.Uri.file(/^gitdir: (?<place>.+?)\s*$/.exec(linked)?.groups?.['place'] ?? '');
  return textOf(vscode.Uri.joinPath(place, 'HEAD'));
}

async function textOf(uri: vscode.Uri): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return undefined;
  }
}

function likely(objective: string | undefined, source: string, icon: string): Likely[] {
  return objective === undefined ? [] : [{ objective, source, icon }];
}

function once(all: readonly Likely[]): Likely[] {
  const seen = new Set<string>();
  return all.filter(({ objective }) => !seen.has(objective) && seen.add(objective));
}

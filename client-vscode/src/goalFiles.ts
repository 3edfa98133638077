import * as vscode from 'vscode';
import { baseName } from './plainText';
import type { Snapshot } from './protocol';
import type { Services } from './services';

const GOALS = '**/{GOAL.md,*.goal.md}';
const NOT_GOALS = '**/{node_modules,.venv,venv,.git}/**';
const MOST = 200;
const SETTLE_MS = 100;

export const GOAL_DOCUMENTS = [
  { scheme: 'file', pattern: '**/GOAL.md' },
  { scheme: 'file', pattern: '**/*.goal.md' },
];

export function isGoalFile(uri: vscode.Uri): boolean {
  return uri.scheme === 'file' && /^(GOAL\.md|.*\.goal\.md)$/.test(baseName(uri.path));
}

/** The goal files of the workspace, in the order of their paths. */
export async function findGoals(): Promise<vscode.Uri[]> {
  const found = await vscode.workspace.findFiles(GOALS, NOT_GOALS, MOST);
  return found.sort((one, other) => one.path.localeCompare(other.path));
}

/** A goal is read from the disk: what a person just wrote goes there first. */
export async function saveGoal(goalUri: unknown): Promise<void> {
  if (isUnsaved(goalUri)) {
    await opened(goalUri)?.save();
  }
}

/** Runs the checks of a goal, as it stands in the editor. Rejects where the workspace is not trusted. */
export async function checkGoal({ request }: Pick<Services, 'request'>, goalUri: string, token?: vscode.CancellationToken): Promise<Snapshot> {
  mustBeTrusted();
  await saveGoal(goalUri);
  return request('donewhen.goal.check', { goalUri }, token);
}

export function mustBeTrusted(): void {
  if (!vscode.workspace.isTrusted) {
    throw new Error(vscode.l10n.t('The workspace is not trusted, so nothing in it is run.'));
  }
}

/** Whether the editor holds something of the file that the disk does not. */
export function isUnsaved(uri: unknown): boolean {
  return opened(uri)?.isDirty === true;
}

function opened(uri: unknown): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
}

/** What the editor shows of a file, or the disk has; undefined where it can't be read. */
export async function textOf(file: vscode.Uri): Promise<string | undefined> {
  try {
    return opened(file.toString())?.getText() ?? new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
  } catch {
    return undefined;
  }
}

/** The goal files of the workspace, watched and read once for all features. */
export class GoalFiles implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly watching: vscode.Disposable;
  private timer: ReturnType<typeof setTimeout> | undefined;
  readonly onDidChange = this.changed.event;
  /** In the order of their paths. */
  all: Services['goalFiles']['all'] = [];

  constructor(private readonly log: vscode.LogOutputChannel) {
    const watcher = vscode.workspace.createFileSystemWatcher(GOALS);
    const later = (): void => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.look(), SETTLE_MS);
    };
    this.watching = vscode.Disposable.from(
      watcher,
      watcher.onDidCreate(later),
      watcher.onDidChange(later),
      watcher.onDidDelete(later),
      vscode.workspace.onDidChangeWorkspaceFolders(later),
    );
    void this.look();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.watching.dispose();
    this.changed.dispose();
  }

  private async look(): Promise<void> {
    try {
      const found = await findGoals();
      this.all = await Promise.all(found.map(async (uri) => ({ uri: uri.toString(), title: await titleOf(uri) })));
      this.changed.fire();
    } catch (problem) {
      this.log.warn(`the goal files are not known: ${String(problem)}`);
    }
  }
}

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n[^]*?\r?\n---[ \t]*(?:\r?\n|$)/u;

/** The first heading, without the marks of code; else the file's name. */
async function titleOf(uri: vscode.Uri): Promise<string> {
  const text = (await textOf(uri)) ?? '';
  const heading = /^#[ \t]+(\S.*?)[ \t]*#*[ \t]*$/mu.exec(text.replace(FRONT_MATTER, ''))?.[1];
  return heading?.replaceAll('`', '') ?? vscode.workspace.asRelativePath(uri);
}

/**
 * Starts the server once there is a goal file: one that stands in the workspace, that is made later, or that is opened.
 * What is asked for in the view or by a command starts it besides; a window without goals has no server.
 */
export function registerWanted({ want, goalFiles }: Pick<Services, 'want' | 'goalFiles'>): vscode.Disposable {
  const opened = (document: vscode.TextDocument): void => {
    if (isGoalFile(document.uri)) {
      want();
    }
  };
  vscode.workspace.textDocuments.forEach(opened);
  void standsOnTop().then((stands) => {
    if (stands) {
      want();
    }
  });
  return vscode.Disposable.from(
    goalFiles.onDidChange(() => {
      if (goalFiles.all.length > 0) {
        want();
      }
    }),
    vscode.workspace.onDidOpenTextDocument(opened),
  );
}

/** Asks the file system, which knows before the editor's search does. */
async function standsOnTop(): Promise<boolean> {
  const names = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => vscode.Uri.joinPath(uri, 'GOAL.md'));
  const found = await Promise.allSettled(names.map((uri) => vscode.workspace.fs.stat(uri)));
  return found.some(({ status }) => status === 'fulfilled');
}

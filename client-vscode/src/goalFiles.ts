import * as vscode from 'vscode';
import { goalTitle } from './goalTitle';
import type { GoalFile } from './goalTree';
import { GOALS, NOT_GOALS } from './targets';

const MOST = 200;
const SETTLE_MS = 100;

/** The goal files of the workspace with their titles, whether pursued or not. */
export class GoalFiles implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly watching: vscode.Disposable;
  private titles: ReadonlyMap<string, string> = new Map();
  private timer: ReturnType<typeof setTimeout> | undefined;
  readonly onDidChange = this.changed.event;

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

  /** In the order of their paths. */
  all(): readonly GoalFile[] {
    return [...this.titles].map(([uri, title]) => ({ uri, title }));
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.watching.dispose();
    this.changed.dispose();
  }

  private async look(): Promise<void> {
    try {
      const found = await vscode.workspace.findFiles(GOALS, NOT_GOALS, MOST);
      found.sort((one, other) => one.path.localeCompare(other.path));
      const titles = await Promise.all(found.map(async (uri) => [uri.toString(), await titleOf(uri)] as const));
      this.titles = new Map(titles);
      this.changed.fire();
    } catch (problem) {
      this.log.warn(`the goal files are not known: ${String(problem)}`);
    }
  }
}

async function titleOf(uri: vscode.Uri): Promise<string> {
  const name = vscode.workspace.asRelativePath(uri);
  try {
    return goalTitle(new TextDecoder().decode(await vscode.workspace.fs.readFile(uri))) ?? name;
  } catch {
    // Deleted meanwhile, or not to be read: its name is what is known.
    return name;
  }
}

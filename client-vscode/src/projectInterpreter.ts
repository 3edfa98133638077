import * as path from 'node:path';
import * as vscode from 'vscode';

/** What we use of the Python extension's API. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly id: string; readonly path: string };
    resolveEnvironment(
      environment: { readonly id: string; readonly path: string },
    ): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** The interpreters that are selected for the folders in VS Code: checks run in them, the server never does. */
export class ProjectInterpreter implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly disposables: { dispose(): void }[] = [this.changed];
  private api: PythonApi | undefined;
  private found: Readonly<Record<string, string>> = {};
  private reading = 0;

  readonly onDidChange = this.changed.event;

  constructor(private readonly log: vscode.LogOutputChannel) {}

  /** By the folder's uri; folders without a selected interpreter are left out. */
  get paths(): Readonly<Record<string, string>> {
    return this.found;
  }

  /** Looks for the Python extension, and follows what is selected there. Takes as long as that extension takes. */
  async follow(): Promise<void> {
    const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
    if (extension === undefined) {
      return;
    }
    try {
      this.api = await extension.activate();
      this.disposables.push(
        this.api.environments.onDidChangeActiveEnvironmentPath(() => void this.read()),
        vscode.workspace.onDidChangeWorkspaceFolders(() => void this.read()),
      );
      await this.read();
    } catch (problem) {
      this.unknown(problem);
    }
  }

  dispose(): void {
    for (const one of this.disposables) {
      one.dispose();
    }
  }

  private async read(): Promise<void> {
    const reading = ++this.reading;
    const found = await this.look().catch((problem: unknown) => {
      this.unknown(problem);
      return this.found;
    });
    // What was asked later is newer, whichever is answered first.
    if (reading === this.reading && JSON.stringify(found) !== JSON.stringify(this.found)) {
      this.found = found;
      this.changed.fire();
    }
  }

  private async look(): Promise<Readonly<Record<string, string>>> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const selected = await Promise.all(folders.map(async ({ uri }) => [uri.toString(), await this.selected(uri)] as const));
    return Object.fromEntries(selected.filter((one): one is [string, string] => one[1] !== undefined));
  }

  private unknown(problem: unknown): void {
    this.log.warn(`the Python extension does not say which interpreter is selected: ${String(problem)}`);
  }

  private async selected(folder: vscode.Uri): Promise<string | undefined> {
    const environments = this.api?.environments;
    const resolved = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
    const executable = resolved?.executable.uri?.fsPath;
    return executable !== undefined && path.isAbsolute(executable) ? executable : undefined;
  }
}

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

/** The interpreter that is selected for the project in VS Code: checks run in it, the server never does. */
export class ProjectInterpreter implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly disposables: { dispose(): void }[] = [this.changed];
  private api: PythonApi | undefined;
  private found: string | undefined;

  readonly onDidChange = this.changed.event;

  constructor(private readonly log: vscode.LogOutputChannel) {}

  get path(): string | undefined {
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
      this.disposables.push(this.api.environments.onDidChangeActiveEnvironmentPath(() => void this.read()));
      await this.read();
    } catch (problem) {
      this.log.warn(`the Python extension does not say which interpreter is selected: ${String(problem)}`);
    }
  }

  dispose(): void {
    for (const one of this.disposables) {
      one.dispose();
    }
  }

  private async read(): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const environments = this.api?.environments;
    const resolved = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
    const executable = resolved?.executable.uri?.fsPath;
    const found = executable !== undefined && path.isAbsolute(executable) ? executable : undefined;
    if (found !== this.found) {
      this.found = found;
      this.changed.fire();
    }
  }
}

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { editorDiagnostics, Sent } from './editorProblems';
import type { Services } from './services';

const QUIET_MS = 150;
/** However much tools say, a window holds no more files with problems than a person could look at. */
const MOST_FILES = 2_000;
const EVERY_FILE = [{ scheme: 'file' }];

/** The editor as evidence: what language servers and linters say about the workspace's files reaches the server. */
export function registerForwarding(services: Services): vscode.Disposable {
  const forwarding = new Forwarding(services);
  return vscode.Disposable.from(
    forwarding,
    services.client.onDidStart(() => {
      forwarding.again();
    }),
    vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      forwarding.changed(uris);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      forwarding.foldersChanged();
    }),
    services.snapshots.onDidChange((runId) => {
      forwarding.runChanged(runId);
    }),
  );
}

/**
 * Has the client tell the server of every open file, not of goal files only: it writes over nobody's unsaved text, and
 * knows a save of the person's. Code actions are for every file, too: findings are on the lines of the code.
 */
export function synchronizeEveryFile(client: LanguageClient): void {
  const features = [
    client.getFeature('textDocument/didOpen'),
    client.getFeature('textDocument/didChange'),
    client.getFeature('textDocument/didSave'),
    client.getFeature('textDocument/didClose'),
    client.getFeature('textDocument/codeAction'),
  ];
  for (const feature of features) {
    const initialize = feature.initialize.bind(feature);
    feature.initialize = (capabilities) => {
      initialize(capabilities, EVERY_FILE);
    };
  }
}

class Forwarding implements vscode.Disposable {
  private readonly waiting = new Map<string, vscode.Uri>();
  private readonly sent = new Sent();
  private readonly runs = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly services: Services) {}

  /** Tools report while a person types: each file's last word counts. */
  changed(uris: readonly vscode.Uri[]): void {
    for (const uri of uris.filter(isOurs)) {
      this.waiting.set(uri.toString(), uri);
    }
    if (this.waiting.size > 0) {
      this.timer ??= setTimeout(() => {
        this.flush();
      }, QUIET_MS);
    }
  }

  /** Says everything again, to a server that knows nothing. */
  again(): void {
    this.sent.forget();
    this.announce();
    const files = vscode.languages.getDiagnostics().map(([uri]) => uri);
    this.changed(files.slice(0, MOST_FILES));
    this.flush();
  }

  /** A folder that the server hasn't opened takes no diagnostics: asking for its runs opens it. */
  foldersChanged(): void {
    this.services.client.request('donewhen.run.status', {}).then(
      () => {
        this.again();
      },
      (problem: unknown) => {
        this.services.log.warn(`workspace folders: ${String(problem)}`);
      },
    );
  }

  /** The first run in a folder is what opened it. */
  runChanged(runId: string | undefined): void {
    if (runId !== undefined && !this.runs.has(runId)) {
      this.runs.add(runId);
      this.again();
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const uri of this.waiting.values()) {
      const params = this.params(uri);
      if (this.sent.differs(params)) {
        this.services.client.notify('donewhen/editorDiagnostics', params);
      }
    }
    this.waiting.clear();
  }

  /** Where no file has a problem, this alone says that there is an editor that would tell. */
  private announce(): void {
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      if (folder.uri.scheme === 'file') {
        const params = this.params(vscode.Uri.joinPath(folder.uri, 'GOAL.md'));
        this.services.client.notify('donewhen/editorDiagnostics', params);
      }
    }
  }

  private params(uri: vscode.Uri) {
    return editorDiagnostics(uri.toString(), vscode.languages.getDiagnostics(uri));
  }
}

function isOurs(uri: vscode.Uri): boolean {
  return uri.scheme === 'file' && vscode.workspace.getWorkspaceFolder(uri) !== undefined;
}

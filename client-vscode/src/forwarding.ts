import * as vscode from 'vscode';
import { editorDiagnostics, Sent } from './editorProblems';
import type { Services } from './services';

type ForwardingServices = Pick<Services, 'notify' | 'onDidStart'>;

const QUIET_MS = 150;
/** Files that are told of at once: the window stays responsive however many have problems. */
const AT_ONCE = 200;

/** The editor as evidence: what language servers and linters say about the workspace's files reaches the server. */
export function registerForwarding(services: ForwardingServices): vscode.Disposable {
  const forwarding = new Forwarding(services);
  return vscode.Disposable.from(
    forwarding,
    services.onDidStart(() => {
      forwarding.again();
    }),
    vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      forwarding.changed(uris);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      forwarding.again();
    }),
  );
}

class Forwarding implements vscode.Disposable {
  private readonly waiting = new Map<string, vscode.Uri>();
  private readonly sent = new Sent();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly services: ForwardingServices) {}

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

  /** Says everything again, to a server that knows nothing, or after other files count as the workspace's. */
  again(): void {
    this.sent.forget();
    this.changed(vscode.languages.getDiagnostics().map(([uri]) => uri));
    this.flush();
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const [key, uri] of [...this.waiting].slice(0, AT_ONCE)) {
      this.waiting.delete(key);
      const params = editorDiagnostics(key, vscode.languages.getDiagnostics(uri));
      if (this.sent.differs(params)) {
        this.services.notify('donewhen/editorDiagnostics', params);
      }
    }
    this.changed([]);
  }
}

function isOurs(uri: vscode.Uri): boolean {
  return uri.scheme === 'file' && vscode.workspace.getWorkspaceFolder(uri) !== undefined;
}

import type * as vscode from 'vscode';
import type { Server } from './client';
import type { Secrets } from './secrets';
import type { SnapshotStore } from './snapshots';
import type { Trouble } from './trouble';

/** What every feature works with. A feature's module exports `register<Feature>(services): vscode.Disposable`. */
export interface Services {
  readonly client: Server;
  readonly snapshots: SnapshotStore;
  readonly log: vscode.LogOutputChannel;
  readonly context: vscode.ExtensionContext;
  readonly keys: Secrets;
  readonly trouble: Trouble;
}

import * as vscode from 'vscode';
import { Server } from './client';
import { registerCommands } from './commands';
import { affects, configured, text } from './configuration';
import { registerContext } from './contextKeys';
import { resolveCommand } from './environment';
import { registerEvidence } from './evidence';
import { registerForwarding } from './forwarding';
import { registerGoalsView } from './goalsView';
import { registerNotifications } from './notifications';
import { ProjectInterpreter } from './projectInterpreter';
import { Secrets } from './secrets';
import { serverSettings } from './serverCommand';
import { registerServerStatus } from './serverStatus';
import type { Services } from './services';
import { SnapshotStore } from './snapshots';
import { registerStatusBar } from './statusBar';
import { registerTimeline } from './timeline/timeline';

let server: Server | undefined;

/** Wires everything up and returns at once; the server starts meanwhile. */
export function activate(context: vscode.ExtensionContext): void {
  const begun = performance.now();
  const log = vscode.window.createOutputChannel('Done When', { log: true });
  const snapshots = new SnapshotStore();
  const secrets = new Secrets(context.secrets);
  const interpreter = new ProjectInterpreter(log);
  server = new Server(
    {
      command: resolveCommand,
      settings: () => Promise.resolve(serverSettings(configured(), interpreter.path)),
      stateDir: () => text('stateDir') || null,
      secrets: () => secrets.all(),
    },
    snapshots,
    log,
  );
  const services: Services = { client: server, snapshots, log, context };
  context.subscriptions.push(log, server, interpreter, follow(server, interpreter));
  const features = [
    registerStatusBar,
    registerContext,
    registerNotifications,
    registerServerStatus,
    registerGoalsView,
    registerEvidence,
    registerForwarding,
    registerTimeline,
  ];
  context.subscriptions.push(registerCommands(services, server, secrets));
  context.subscriptions.push(...features.map((register) => register(services)));
  void server.start().then(() => interpreter.follow());
  log.info(`activated in ${(performance.now() - begun).toFixed(1)} ms`);
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** What changes outside is handed to the server. */
function follow(server: Server, interpreter: ProjectInterpreter): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      server.notify('donewhen/didChangeTrust', { trusted: true });
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (affects(change)) {
        void server.reconfigure();
      }
    }),
    interpreter.onDidChange(() => void server.reconfigure()),
  );
}

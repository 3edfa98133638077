import * as vscode from 'vscode';
import { registerAttempts } from './attempts';
import { Server } from './client';
import { registerChangeMarks } from './changeMarks';
import { registerChat } from './chat';
import { registerCommands } from './commands';
import { affects, configured, ownText } from './configuration';
import { Environment } from './environment';
import { registerDocuments } from './documents';
import { registerForwarding } from './forwarding';
import { registerWanted } from './goalFiles';
import { goalPreview, type PreviewPlugin } from './goalPreview';
import { registerGoalsView } from './goalsView';
import { registerMcp } from './mcp';
import { registerNotifications } from './notifications';
import { ProjectInterpreter } from './projectInterpreter';
import { Secrets } from './secrets';
import { serverSettings } from './serverCommand';
import type { Services } from './services';
import { shownRuns, SnapshotStore } from './snapshots';
import { registerStatus } from './status';
import { registerTerminal } from './terminal';
import { registerTestExplorer } from './testExplorer';
import { registerTimeline } from './timeline/timeline';
import { Trouble } from './trouble';

let server: Server | undefined;

/** Wires everything up and returns at once; the server starts when it is wanted. */
export function activate(context: vscode.ExtensionContext): PreviewPlugin {
  const begun = performance.now();
  const log = vscode.window.createOutputChannel('Done When', { log: true });
  const snapshots = new SnapshotStore((uri) => vscode.Uri.parse(uri).toString());
  const secrets = new Secrets(context.secrets);
  const interpreter = new ProjectInterpreter(log);
  const environment = new Environment(context, log);
  const started: Server = new Server(
    {
      command: () => environment.command(),
      remedies: () => environment.remedies(),
      cwd: context.globalStorageUri.fsPath,
      settings: () => Promise.resolve(serverSettings(configured(), interpreter.paths)),
      stateDir: () => ownText('stateDir') || null,
      trusted: () => vscode.workspace.isTrusted,
      secrets: () => secrets.all(),
      mayRestart: () => !snapshots.all().some(({ view }) => view.active),
      offerRestart: () => { trouble.tellOutdated(); },
      runOf: (goalUri) => shownRuns(snapshots.all()).find((run) => run.goalUri === goalUri),
      tell: (problem) => { trouble.tell(problem); },
    },
    snapshots,
    log,
  );
  server = started;
  const trouble: Trouble = new Trouble(started, environment, log, versionOf(context));
  const services: Services = { client: started, snapshots, log, context, keys: secrets, trouble };
  context.subscriptions.push(log, started, interpreter, follow(started, snapshots, interpreter), followLater(started, interpreter), trouble.registerServer(), secrets.follow(started));
  context.subscriptions.push(registerTerminal(context), registerMcp(environment));
  const features = [
    registerStatus,
    registerNotifications,
    registerGoalsView,
    registerDocuments,
    registerChat,
    registerForwarding,
    registerTimeline,
    registerTestExplorer,
    registerChangeMarks,
    registerAttempts,
    registerWanted,
  ];
  context.subscriptions.push(registerCommands(services, trouble));
  context.subscriptions.push(...features.map((register) => register(services)));
  log.info(`activated in ${(performance.now() - begun).toFixed(1)} ms`);
  return goalPreview(services);
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

function versionOf(context: vscode.ExtensionContext): string {
  return (context.extension.packageJSON as { readonly version: string }).version;
}

/** The extension that knows the interpreters may take long to start: the first start of the server doesn't wait for it. */
function followLater(server: Server, interpreter: ProjectInterpreter): vscode.Disposable {
  const once = server.onDidChangeState((state) => {
    if (state === 'running' || state === 'failed') {
      once.dispose();
      void interpreter.follow();
    }
  });
  return once;
}

/** What changes outside is handed to the server. */
function follow(server: Server, snapshots: SnapshotStore, interpreter: ProjectInterpreter): vscode.Disposable {
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
    snapshots.onDidChange(() => {
      server.takeUp();
    }),
  );
}

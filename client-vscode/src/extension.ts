import * as vscode from 'vscode';
import { registerAttempts } from './attempts';
import { Server } from './client';
import { registerChangeMarks } from './changeMarks';
import { registerChat } from './chat';
import { registerCommands } from './commands';
import { configured, onSettings, ownText } from './configuration';
import { Environment } from './environment';
import { registerDocuments } from './documents';
import { registerForwarding } from './forwarding';
import { GoalFiles, registerWanted } from './goalFiles';
import { goalPreview, type PreviewPlugin } from './goalPreview';
import { registerGoalsView } from './goalsView';
import { registerMcp } from './mcp';
import { registerNotifications } from './notifications';
import { ProjectInterpreter } from './projectInterpreter';
import { Secrets } from './secrets';
import { serverSettings } from './serverCommand';
import type { Services } from './services';
import { inProgress, SnapshotStore } from './snapshots';
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
  const goalFiles = new GoalFiles(log);
  const secrets = new Secrets(context.secrets, (secret) => { started.notify('donewhen/setSecret', secret); });
  const interpreter = new ProjectInterpreter(log);
  const environment = new Environment(context, log, () => trouble.restart());
  const shared = {
    settings: () => serverSettings(configured(), interpreter.paths),
    trusted: () => vscode.workspace.isTrusted,
  };
  const connecting = {
    ...shared,
    cwd: context.globalStorageUri.fsPath,
    stateDir: () => ownText('stateDir') || null,
    tell: (problem: unknown) => { trouble.tell(problem); },
  };
  const started: Server = new Server(
    {
      ...shared,
      command: () => environment.command(),
      remedies: () => environment.remedies(),
      // The client library is loaded here: activating does not wait for it.
      connect: async (command, events) => (await import('./connection')).makeClient(command, connecting, log, events),
      secrets: () => secrets.all(),
      mayRestart: () => !inProgress(snapshots.all()),
      offerRestart: () => { trouble.tellOutdated(); },
    },
    snapshots,
    log,
  );
  server = started;
  const trouble: Trouble = new Trouble(started, environment, log, versionOf(context));
  const services: Services = {
    request: started.request.bind(started),
    notify: started.notify.bind(started),
    want: started.want.bind(started),
    settled: started.settled.bind(started),
    serverState: () => started.state,
    onDidChangeState: started.onDidChangeState,
    onDidStart: started.onDidStart,
    onActivity: started.onActivity,
    snapshots,
    goalFiles,
    keys: secrets,
    problem: trouble.problem.bind(trouble),
    tell: trouble.tell.bind(trouble),
    restart: trouble.restart.bind(trouble),
    installModels: trouble.installModels.bind(trouble),
    log,
    context,
  };
  context.subscriptions.push(log, goalFiles, started, interpreter, follow(started, snapshots, interpreter), followLater(started, interpreter), trouble.registerServer(), secrets.follow());
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
  context.subscriptions.push(registerCommands(services));
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
    onSettings(() => void server.reconfigure()),
    interpreter.onDidChange(() => void server.reconfigure()),
    snapshots.onDidChange(() => {
      server.takeUp();
    }),
  );
}

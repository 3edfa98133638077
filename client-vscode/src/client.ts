import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { completeWithEditorModel } from './editorModels';
import type { EditorModelAsked } from './editorModelWords';
import type { ConnectionEvents } from './connection';
import { within } from './patience';
import type { Activity, CommandArguments, CommandName, CommandResults, SentSnapshot, Snapshot } from './protocol';
import { Backoff, type ServerCommand, SetupProblem, taken } from './serverCommand';
import type { Offer, ServerState } from './services';
import { completed, type SnapshotStore } from './snapshots';

/** What a server needs to know when it starts; asked for at each start. */
export interface Surroundings {
  /** Rejects with a message for people where there is none. */
  command(): Promise<ServerCommand>;
  /** What a person can do where that command starts no server. */
  remedies(): readonly Offer[];
  /** A client of that command, not started yet. */
  connect(command: ServerCommand, events: ConnectionEvents): Promise<LanguageClient>;
  settings(): Record<string, unknown>;
  trusted(): boolean;
  secrets(): Promise<readonly { name: string; value: string }[]>;
  /** Whether it can be restarted now for other settings: no run would be interrupted. */
  mayRestart(): boolean;
  /** Offers a restart that interrupts a run. Nothing waits for the answer. */
  offerRestart(): void;
}

const STOP_MS = 4_000;
/** A server on a busy machine, read from a cold disk, answers long before. */
const START_MS = 30_000;
const EXECUTE = 'workspace/executeCommand';

/** The language server: started, stopped and restarted one after the other, never two at once. */
export class Server implements vscode.Disposable {
  private readonly stateChanged = new vscode.EventEmitter<ServerState>();
  private readonly started = new vscode.EventEmitter<void>();
  private readonly backoff = new Backoff();
  private queue: Promise<void> = Promise.resolve();
  /** The settings' change that waits in the queue. */
  private nextSettings: Promise<void> | undefined;
  private client: LanguageClient | undefined;
  private running: ServerCommand | undefined;
  private retry: NodeJS.Timeout | undefined;
  private wanted = false;
  private disposed = false;

  private readonly active = new vscode.EventEmitter<Activity>();

  /** What is new of the runs that are followed, step by step. */
  readonly onActivity = this.active.event;
  readonly onDidChangeState = this.stateChanged.event;
  /** After each start of the server, once the runs that it knows of are among the snapshots. */
  readonly onDidStart = this.started.event;
  state: ServerState = 'stopped';
  /** Why it does not run. */
  failure: Error | undefined;
  /** What the server that runs, or ran last, says of itself. */
  version: string | undefined;
  /** Whether the settings name another program than the one that runs, which a run keeps from being restarted. */
  outdated = false;

  constructor(
    private readonly around: Surroundings,
    private readonly snapshots: Pick<SnapshotStore, 'begin' | 'take' | 'replace'>,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** Something of goals is there or looked at: starts the server, unless that was done before. */
  want(): void {
    if (!this.wanted) {
      void this.start();
    }
  }

  start(): Promise<void> {
    this.wanted = true;
    return this.serialised(() => (this.client === undefined ? this.launch() : Promise.resolve()));
  }

  /** By a person, or since something changed: crashes before are forgotten. */
  restart(): Promise<void> {
    return this.serialised(() => this.relaunch());
  }

  /** Restarts where the settings name another program now; else the settings are sent. Changes that wait are one. */
  reconfigure(): Promise<void> {
    this.nextSettings ??= this.serialised(() => {
      this.nextSettings = undefined;
      return this.takeSettings();
    });
    return this.nextSettings;
  }

  /** Takes settings that waited for the end of a run. */
  takeUp(): void {
    if (this.outdated && this.around.mayRestart()) {
      void this.reconfigure();
    }
  }

  /** Once the settings that were changed last are taken, whatever that takes: another environment, a restart. */
  settled(): Promise<void> {
    return this.queue;
  }

  private async takeSettings(): Promise<void> {
    if (this.state === 'failed') {
      return this.relaunch();
    }
    const wanted = await this.around.command().catch(() => undefined);
    const how = taken(wanted, this.running, this.around.mayRestart());
    if (how === 'restarted') {
      return this.relaunch();
    }
    const outdated = how === 'later';
    if (outdated !== this.outdated) {
      this.outdated = outdated;
      this.stateChanged.fire(this.state);
      if (outdated) {
        this.around.offerRestart();
      }
    }
    this.notify('workspace/didChangeConfiguration', { settings: { donewhen: this.around.settings() } });
  }

  /** Performs one of the server's commands; waits for a server that is starting. Rejects with a message for people. */
  async request<C extends CommandName>(
    command: C,
    argument: CommandArguments[C],
    token?: vscode.CancellationToken,
  ): Promise<CommandResults[C]> {
    const client = await this.ready();
    const params = { command, arguments: [argument] };
    try {
      // An undefined token would count as a parameter.
      return await client.sendRequest<CommandResults[C]>(EXECUTE, params, ...(token ? [token] : []));
    } catch (problem) {
      // Where a goal file is to be mended, the server names the line of the one that it was asked about.
      throw Object.assign(problem as Error, 'goalUri' in argument ? { goalUri: argument.goalUri } : {});
    }
  }

  /** Dropped while no server runs. */
  notify(method: string, params: object): void {
    if (this.client?.isRunning() === true) {
      this.client.sendNotification(method, params).catch((problem: unknown) => {
        this.log.warn(`${method}: ${String(problem)}`);
      });
    }
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.retry);
    void this.stop();
    this.stateChanged.dispose();
    this.started.dispose();
    this.active.dispose();
  }

  stop(): Promise<void> {
    return this.serialised(() => this.halt());
  }

  private async ready(): Promise<LanguageClient> {
    // One that runs answers while another environment is made for it.
    if (this.client === undefined) {
      await this.queue;
    }
    if (this.client === undefined && this.state !== 'failed') {
      await this.start();
    }
    if (this.client === undefined) {
      throw this.failure ?? new Error(vscode.l10n.t('The Done When server is not running.'));
    }
    return this.client;
  }

  private serialised(work: () => Promise<void>): Promise<void> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => undefined);
    return this.queue;
  }

  private async relaunch(): Promise<void> {
    this.backoff.reset();
    await this.halt();
    await this.launch();
  }

  private async launch(): Promise<void> {
    if (this.disposed) {
      return;
    }
    clearTimeout(this.retry);
    this.enter('preparing');
    try {
      const command = await this.around.command();
      this.enter('starting');
      await this.connect(command);
      this.running = command;
      this.enter('running');
      // Given meanwhile, it would be lost: one that is starting is told nothing.
      this.notify('donewhen/didChangeTrust', { trusted: this.around.trusted() });
      await this.fetchRuns();
      this.started.fire();
    } catch (problem) {
      this.fail(problem instanceof Error ? problem : new Error(String(problem)));
    }
  }

  private async connect(command: ServerCommand): Promise<void> {
    this.snapshots.begin();
    this.log.info(`starting ${command.command} ${command.args.join(' ')}`);
    let refuse: (problem: Error) => void = () => undefined;
    const refused = new Promise<never>((_resolve, reject) => {
      refuse = reject;
    });
    refused.catch(() => undefined);
    const client = await this.around.connect(command, {
      closed: () => {
        this.closed(client);
      },
      garbled: refuse,
    });
    client.onNotification('donewhen/activity', (activity: Activity) => {
      this.active.fire(activity);
    });
    const last = new Map<string, Snapshot>();
    client.onNotification('donewhen/snapshot', (sent: SentSnapshot) => {
      const snapshot = completed(sent, last.get(sent.runId));
      last.set(sent.runId, snapshot);
      this.snapshots.take(snapshot);
    });
    client.onRequest('donewhen/model/complete', (asked: EditorModelAsked, token: vscode.CancellationToken) =>
      completeWithEditorModel(asked, token),
    );
    try {
      await within(START_MS, this.greet(client), refused);
    } catch (problem) {
      this.log.error(String(problem));
      await endedClient(client);
      const told = vscode.l10n.t('The Done When server {0} could not be started. The log says more.', command.command);
      throw new SetupProblem(told, this.around.remedies());
    }
    this.client = client;
  }

  private async greet(client: LanguageClient): Promise<void> {
    await client.start();
    const { name, version } = client.initializeResult?.serverInfo ?? { name: '' };
    if (name !== 'donewhen') {
      throw new Error(`it says that it is ${JSON.stringify(name)}`);
    }
    this.version = version;
    for (const secret of await this.secrets()) {
      await client.sendNotification('donewhen/setSecret', secret);
    }
    if (!client.isRunning()) {
      throw new Error('it ended as soon as it had started');
    }
  }

  /** Where the machine's key ring can't be read, goals without models are pursued all the same. */
  private async secrets(): Promise<readonly { name: string; value: string }[]> {
    try {
      return await this.around.secrets();
    } catch (problem) {
      this.log.warn(`the stored keys can't be read: ${String(problem)}`);
      return [];
    }
  }

  /** The process is gone, and nobody asked for it. */
  private closed(client: LanguageClient): void {
    if (this.client !== client || this.state !== 'running' || this.disposed) {
      return;
    }
    this.discard();
    const delay = this.backoff.crashed(Date.now());
    if (delay === undefined) {
      this.fail(new Error(vscode.l10n.t('The Done When server ended unexpectedly several times. The log says more.')));
      return;
    }
    this.log.warn(`the server ended unexpectedly; it is started again in ${delay} ms`);
    this.enter('stopped');
    this.retry = setTimeout(() => void this.start(), delay);
  }

  private async fetchRuns(): Promise<void> {
    try {
      const params = { command: 'donewhen.run.status', arguments: [{}] };
      const told = await this.client?.sendRequest<CommandResults['donewhen.run.status']>(EXECUTE, params);
      const { snapshots = [] } = told ?? {};
      this.snapshots.replace(snapshots);
      this.log.info(`the server is ready, version ${this.version ?? 'unknown'}; runs known: ${snapshots.length}`);
    } catch (problem) {
      this.log.warn(`the runs are not known: ${String(problem)}`);
    }
  }

  private async halt(): Promise<void> {
    clearTimeout(this.retry);
    const client = this.client;
    this.enter('stopped');
    this.client = undefined;
    this.running = undefined;
    this.outdated = false;
    await client?.dispose(STOP_MS).catch((problem: unknown) => {
      this.log.warn(`stopping: ${String(problem)}`);
    });
  }

  private discard(): void {
    const client = this.client;
    this.client = undefined;
    this.running = undefined;
    void client?.dispose().catch(() => undefined);
  }

  private fail(problem: Error): void {
    this.failure = problem;
    this.outdated = false;
    this.log.error(problem.message);
    this.discard();
    this.enter('failed');
  }

  private enter(state: ServerState): void {
    if (this.state !== state && !this.disposed) {
      this.state = state;
      this.stateChanged.fire(state);
    }
  }
}

/** A client that is starting can't be disposed of, but its process can be ended. */
async function endedClient(client: LanguageClient): Promise<void> {
  const process = client.serverProcess;
  await client.dispose().catch(() => undefined);
  process?.kill('SIGKILL');
}

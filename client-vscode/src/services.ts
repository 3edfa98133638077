import type * as vscode from 'vscode';
import type { Activity, CommandArguments, CommandName, CommandResults, Snapshot } from './protocol';

/** What every feature works with. A feature's module exports `register<Feature>(services): vscode.Disposable`. */
export interface Services {
  readonly client: ServerClient;
  readonly snapshots: Snapshots;
  readonly log: vscode.LogOutputChannel;
  readonly context: vscode.ExtensionContext;
  readonly keys: Keys;
  readonly trouble: Troubles;
}

/** What is wrong with the server for as long as it is, wherever a person looks: what was said of it once may be gone. */
export interface Troubles {
  problem(): ServerProblem | undefined;
}

export interface ServerProblem {
  readonly message: string;
  /** What can be done about it, the likeliest first. */
  readonly offers: readonly { readonly label: string; perform(): Thenable<unknown> }[];
}

/** The keys of models' providers. */
export interface Keys {
  /** Asks for the keys that these models need and that are not there; false where the person leaves. */
  askMissing(client: ServerClient, models: readonly string[]): Promise<boolean>;
}

export type ServerState = 'stopped' | 'preparing' | 'starting' | 'running' | 'failed';

/** The language server, across its restarts. */
export interface ServerClient {
  readonly state: ServerState;
  readonly onDidChangeState: vscode.Event<ServerState>;
  /** After each start of the server, once the runs that it knows of are among the snapshots. */
  readonly onDidStart: vscode.Event<void>;
  /** What is new of the runs that are followed, step by step. */
  readonly onActivity: vscode.Event<Activity>;
  /**
   * Performs one of the server's commands; waits for a server that is starting. Rejects with an `Error` whose message
   * is for people.
   */
  request<C extends CommandName>(
    command: C,
    argument: CommandArguments[C],
    token?: vscode.CancellationToken,
  ): Promise<CommandResults[C]>;
  /** Once the settings that were changed last are taken, whatever that takes: another environment, a restart. */
  settled(): Promise<void>;
  /** Something of goals is there or looked at: starts the server, unless that was done before. */
  want(): void;
  /** Sends a notification such as `donewhen/editorDiagnostics`; dropped while no server runs. */
  notify(method: string, params: object): void;
}

/** The newest snapshot of each run. Nothing else is kept of a run. */
export interface Snapshots {
  /** Newest run first. */
  all(): readonly Snapshot[];
  get(runId: string): Snapshot | undefined;
  /** The newest run or audit of a goal file. */
  ofGoal(goalUri: string): Snapshot | undefined;
  /** Told of each change, with the run that changed; undefined where all were replaced. */
  onDidChange(listener: (runId: string | undefined) => void): { dispose(): void };
}


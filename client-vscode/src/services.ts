import type * as vscode from 'vscode';
import type { Activity, CommandArguments, CommandName, CommandResults, Snapshot } from './protocol';

export type ServerState = 'stopped' | 'preparing' | 'starting' | 'running' | 'failed';

/** The newest snapshot of each run. */
interface Snapshots {
  /** Newest run first. */
  all(): readonly Snapshot[];
  get(runId: string): Snapshot | undefined;
  /** The newest run or check of a goal file. */
  ofGoal(goalUri: string): Snapshot | undefined;
  /** Told of each change, with the run that changed; undefined where all were replaced. */
  onDidChange(listener: (runId: string | undefined) => void): vscode.Disposable;
}

/** The goal files with their titles, whether pursued or not, in the order of their paths. */
interface GoalFilesKnown {
  readonly all: readonly { readonly uri: string; readonly title: string }[];
  readonly onDidChange: vscode.Event<void>;
}

/** API keys; each resolves to false where the person leaves. */
interface Keys {
  /** Asks for a key, the one that is known to be meant, and hands it over, or forgets it. */
  ask(known?: string): Promise<boolean>;
  /** Asks for the keys that these models need and that are not there yet. */
  askMissing(models: readonly string[]): Promise<boolean>;
}

/** A button of a notification, which does something by itself. */
export interface Offer {
  readonly label: string;
  perform(): Thenable<unknown>;
}

/** What is wrong with the server for as long as it is, and what can be done about it, the likeliest first. */
export interface ServerProblem {
  readonly message: string;
  readonly offers: readonly Offer[];
}

/**
 * What features work with. Each names what it takes of it, and knows no class of another's: only `extension.ts` does. A
 * feature's module exports `register<Feature>(services): vscode.Disposable`.
 */
export interface Services {
  /** Performs one of the server's commands; waits for a server that is starting. Rejects with a message for people. */
  readonly request: <C extends CommandName>(command: C, argument: CommandArguments[C], token?: vscode.CancellationToken) => Promise<CommandResults[C]>;
  /** Dropped while no server runs. */
  readonly notify: (method: string, params: object) => void;
  /** Something of goals is there or looked at: starts the server, unless that was done before. */
  readonly want: () => void;
  /** Once the settings that were changed last are taken, whatever that takes: another environment, a restart. */
  readonly settled: () => Promise<void>;
  readonly serverState: () => ServerState;
  readonly onDidChangeState: vscode.Event<ServerState>;
  /** After each start of the server, once the runs that it knows of are among the snapshots. */
  readonly onDidStart: vscode.Event<void>;
  /** What is new of the runs that are followed, step by step. */
  readonly onActivity: vscode.Event<Activity>;
  readonly snapshots: Snapshots;
  readonly goalFiles: GoalFilesKnown;
  readonly keys: Keys;
  /** What keeps the server from running, from running what the settings name, or from being the one that fits. */
  readonly problem: () => ServerProblem | undefined;
  /** Says what went wrong with a command, which is tried `again` once what it lacked is there. */
  readonly tell: (problem: unknown, again?: () => Promise<void>) => void;
  /** By a person: what fails as it did before is said again. */
  readonly restart: () => Promise<void>;
  /** Installs what calls models, and starts the server with it. */
  readonly installModels: () => Promise<void>;
  readonly log: vscode.LogOutputChannel;
  readonly context: vscode.ExtensionContext;
}

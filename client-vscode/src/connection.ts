import type * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  type MessageSignature,
  ResponseError,
  RevealOutputChannelOn,
  TransportKind,
} from 'vscode-languageclient/node';
import { OPEN_EVIDENCE } from './documentUris';
import { GOAL_DOCUMENTS } from './goalFiles';
import { middleware, type MiddlewareSources } from './middleware';
import type { ServerCommand } from './serverCommand';

/** What goes wrong is told once and in our words: the client's own are for the log. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  /**
   * Where the server is gone, or goes, there is no lens and no hover, and nothing failed: the editor would log each as the
   * fault of this extension. Nor is it logged here: the log of a window that closes refuses whatever is written. Commands
   * are not asked by the editor: who gave one is told.
   */
  override handleFailedRequest<T>(
    type: MessageSignature,
    token: vscode.CancellationToken | undefined,
    problem: unknown,
    nothing: T,
    show?: boolean,
    throwOnCancel?: boolean,
  ): T {
    const answered = problem instanceof ResponseError && this.isRunning();
    if (!answered && type.method !== ExecuteCommandRequest.method) {
      return nothing;
    }
    return super.handleFailedRequest(type, token, problem, nothing, show, throwOnCancel);
  }
}

/** What a connection begins with. */
interface ConnectionSources extends MiddlewareSources {
  /** The folder that the server runs in: not the one that is open, where a program would be looked for, too. */
  readonly cwd: string;
  stateDir(): string | null;
  trusted(): boolean;
}

/** What is told of a connection. */
export interface ConnectionEvents {
  closed(): void;
  /** What the other side writes is not a message. */
  garbled(problem: Error): void;
}

/** A client that is not started yet. */
export function makeClient(
  { command, args }: ServerCommand,
  around: ConnectionSources,
  log: vscode.LogOutputChannel,
  events: ConnectionEvents,
): LanguageClient {
  const executable = { command, args: [...args], transport: TransportKind.stdio, options: { cwd: around.cwd } };
  const options: LanguageClientOptions = {
    documentSelector: GOAL_DOCUMENTS,
    initializationOptions: {
      settings: around.settings(),
      trusted: around.trusted(),
      stateDir: around.stateDir(),
      clientFeatures: { interrupts: true, reasons: true, editorDiagnostics: true, views: true, sparseSnapshots: true, documents: true, languageModels: true },
    },
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // Links may run the one command that opens evidence, whatever the text says.
    markdown: { isTrusted: { enabledCommands: [OPEN_EVIDENCE] } },
    middleware: middleware(around),
    initializationFailedHandler: () => false,
    errorHandler: {
      error: (problem) => {
        events.garbled(problem);
        return { action: ErrorAction.Continue, handled: true };
      },
      closed: () => {
        events.closed();
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
  };
  const client = new QuietClient('donewhen', 'Done When', executable, options);
  pullNothing(client);
  synchronizeEveryFile(client);
  return client;
}

/** Diagnostics are pushed as soon as they change: pulling the same ones would only be later. */
function pullNothing(client: LanguageClient): void {
  const feature = client.getFeature('textDocument/diagnostic');
  const initialize = feature.initialize.bind(feature);
  feature.initialize = (capabilities, selector) => {
    const others = { ...capabilities };
    delete others.diagnosticProvider;
    initialize(others, selector);
  };
}

const EVERY_FILE = [{ scheme: 'file' }];

/**
 * Has the client tell the server of every open file, not of goal files only: it writes over nobody's unsaved text, and
 * knows a save of the person's. Code actions are for every file, too: findings are on the lines of the code.
 */
function synchronizeEveryFile(client: LanguageClient): void {
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

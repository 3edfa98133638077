import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  TransportKind,
} from 'vscode-languageclient/node';
import type { Surroundings } from './client';
import { synchronizeEveryFile } from './forwarding';
import { middleware } from './middleware';
import { PushOnly } from './pushOnly';
import type { ServerCommand } from './serverCommand';

/** What goes wrong is told once and in our words: the client's own are for the log. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** A client that is not started yet; `closed` is called when its connection ends. */
export async function makeClient(
  { command, args }: ServerCommand,
  around: Surroundings,
  log: vscode.LogOutputChannel,
  closed: () => void,
): Promise<LanguageClient> {
  const executable = { command, args: [...args], transport: TransportKind.stdio };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: 'file', pattern: '**/GOAL.md' },
      { scheme: 'file', pattern: '**/*.goal.md' },
    ],
    initializationOptions: {
      settings: await around.settings(),
      trusted: vscode.workspace.isTrusted,
      stateDir: around.stateDir(),
      clientFeatures: { interrupts: true, reasons: true },
    },
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    middleware: middleware(around),
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        closed();
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
  };
  const client = new QuietClient('donewhen', 'Done When', executable, options);
  client.registerFeature(new PushOnly());
  synchronizeEveryFile(client);
  return client;
}

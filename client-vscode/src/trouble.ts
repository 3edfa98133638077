import * as vscode from 'vscode';
import { harmless } from './askedText';
import type { Server } from './client';
import type { Environment } from './environment';
import { GoalProblem } from './goalProblem';
import { type Offer, say } from './notices';
import { type Remedy, SetupProblem } from './setupProblem';
import { lacksModelSupport } from './snapshots';
import { differenceOf } from './versions';

/** What the server says of a key that is missing, or that a provider did not take. */
const NEEDS_KEY = /\b[A-Z][A-Z0-9_]*_API_KEY\b/;

/** What the server says where the built-in agent is to work and has no model. */
const NEEDS_MODEL = /\bneeds a model\b/;

/** How problems are told: a sentence, and buttons for what can be done about it. */
export class Trouble {
  /** The problem whose message stands there and waits for an answer. */
  private telling: string | undefined;
  private toldVersion: string | undefined;

  constructor(
    private readonly server: Server,
    private readonly environment: Environment,
    private readonly log: vscode.LogOutputChannel,
    /** The extension's. */
    private readonly version: string,
  ) {}

  /** Why the server does not run, once for each time that it fails; that it is of another version, once. */
  registerServer(): vscode.Disposable {
    return vscode.Disposable.from(
      this.server.onDidChangeState((state) => {
        if (state === 'failed') {
          this.tellServer();
        }
      }),
      this.server.onDidStart(() => {
        this.tellVersion();
      }),
    );
  }

  /** What went wrong with a command; nothing for what a person cancelled. */
  tell(problem: unknown): void {
    if (problem instanceof vscode.CancellationError) {
      return;
    }
    if (problem === this.server.failure) {
      this.tellServer();
      return;
    }
    if (problem instanceof GoalProblem) {
      tellGoal(problem);
      return;
    }
    const message = problem instanceof Error ? problem.message : String(problem);
    this.log.error(message);
    say('error', harmless(message), { buttons: this.remediesOf(message).map((one) => this.button(one)) });
  }

  private remediesOf(message: string): readonly Remedy[] {
    const command = (label: string, id: string): Remedy => ({
      label,
      again: false,
      perform: async () => vscode.commands.executeCommand(id),
    });
    return [
      ...(NEEDS_MODEL.test(message) ? [command(vscode.l10n.t('Choose Models'), 'donewhen.chooseModels')] : []),
      ...(lacksModelSupport(message) ? [command(vscode.l10n.t('Install Model Support'), 'donewhen.installModels')] : []),
      ...(NEEDS_KEY.test(message) ? [command(vscode.l10n.t('Set API Key'), 'donewhen.setApiKey')] : []),
      command(vscode.l10n.t('Show Logs'), 'donewhen.showLogs'),
    ];
  }

  /** Installs what calls models, and starts the server with it. */
  async installModels(): Promise<void> {
    await this.environment.wantModels();
    await this.server.restart();
  }

  private tellVersion(): void {
    const version = this.server.version;
    const difference = differenceOf(this.version, version);
    if (difference === undefined || this.toldVersion === version) {
      return;
    }
    this.toldVersion = version;
    const names = { server: version ?? '', extension: this.version };
    const message =
      difference === 'older'
        ? vscode.l10n.t('The server is Done When {server}, older than the extension ({extension}). Update it.', names)
        : vscode.l10n.t('The server is Done When {server}, newer than the extension ({extension}). Update the extension.', names);
    this.log.warn(message);
    const buttons = this.environment.versionRemedies().map((one) => this.button(one));
    say('warning', message, { buttons, holds: () => this.server.version === version });
  }

  private tellServer(): void {
    if (this.telling === this.server.failure?.message) {
      return;
    }
    const problem = this.server.failure;
    const remedies = problem instanceof SetupProblem ? problem.remedies : [];
    const message = problem?.message ?? '';
    const restart = { label: vscode.l10n.t('Restart Server'), perform: () => this.server.restart() };
    const logs = {
      label: vscode.l10n.t('Show Logs'),
      perform: () => {
        this.log.show();
        return Promise.resolve();
      },
    };
    this.telling = message;
    say('error', message, {
      buttons: [...(remedies.length > 0 ? remedies.map((one) => this.button(one)) : [restart]), logs],
      holds: () => this.server.failure?.message === problem?.message,
      closed: () => {
        // It stands there no more: what fails in the same way again is told again.
        if (this.telling === message) {
          this.telling = undefined;
        }
      },
    });
  }

  private button(remedy: Remedy): Offer {
    return { label: remedy.label, perform: () => this.perform(remedy) };
  }

  private async perform(remedy: Remedy): Promise<void> {
    try {
      await remedy.perform();
    } catch (problem) {
      this.tell(problem);
      return;
    }
    if (remedy.again) {
      await this.server.restart();
    }
  }
}

/** What is wrong in a goal file, and the way to that line. */
function tellGoal({ message, goalUri, line }: GoalProblem): void {
  const selection = new vscode.Range(line, 0, line, 0);
  const perform = (): Thenable<unknown> => vscode.window.showTextDocument(vscode.Uri.parse(goalUri, true), { selection });
  say('error', harmless(message), { buttons: [{ label: vscode.l10n.t('Open Goal File'), perform }] });
}

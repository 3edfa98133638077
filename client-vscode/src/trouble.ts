import * as vscode from 'vscode';
import { harmless } from './askedText';
import type { Server } from './client';
import type { Environment } from './environment';
import { GoalProblem } from './goalProblem';
import { tellError, warn } from './notices';
import { type Remedy, SetupProblem } from './setupProblem';
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
          void this.tellServer();
        }
      }),
      this.server.onDidStart(() => void this.tellVersion()),
    );
  }

  /** What went wrong with a command; nothing for what a person cancelled. */
  async tell(problem: unknown): Promise<void> {
    if (problem instanceof vscode.CancellationError) {
      return;
    }
    if (problem === this.server.failure) {
      return this.tellServer();
    }
    if (problem instanceof GoalProblem) {
      return tellGoal(problem);
    }
    const message = problem instanceof Error ? problem.message : String(problem);
    this.log.error(message);
    const remedies = this.remediesOf(message);
    const chosen = await tellError(harmless(message), remedies.map((one) => one.label));
    await this.perform(remedies.find((one) => one.label === chosen));
  }

  private remediesOf(message: string): readonly Remedy[] {
    const command = (label: string, id: string): Remedy => ({
      label,
      again: false,
      perform: async () => vscode.commands.executeCommand(id),
    });
    const install: Remedy = {
      label: vscode.l10n.t('Install Model Support'),
      again: true,
      perform: () => this.environment.wantModels(),
    };
    return [
      ...(NEEDS_MODEL.test(message) ? [command(vscode.l10n.t('Choose Models'), 'donewhen.chooseModels')] : []),
      ...(message.includes('donewhen[models]') ? [install] : []),
      ...(NEEDS_KEY.test(message) ? [command(vscode.l10n.t('Set API Key'), 'donewhen.setApiKey')] : []),
      command(vscode.l10n.t('Show Logs'), 'donewhen.showLogs'),
    ];
  }

  private async tellVersion(): Promise<void> {
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
    const remedies = this.environment.versionRemedies();
    const labels = remedies.map((one) => one.label);
    const chosen = await warn(message, labels, () => this.server.version === version);
    await this.perform(remedies.find((one) => one.label === chosen));
  }

  private async tellServer(): Promise<void> {
    const message = this.server.failure?.message;
    if (this.telling === message) {
      return;
    }
    this.telling = message;
    try {
      await this.offerRemedies();
    } finally {
      if (this.telling === message) {
        this.telling = undefined;
      }
    }
  }

  private async offerRemedies(): Promise<void> {
    const problem = this.server.failure;
    const remedies = problem instanceof SetupProblem ? problem.remedies : [];
    const restart = vscode.l10n.t('Restart Server');
    const logs = vscode.l10n.t('Show Logs');
    const labels = remedies.length > 0 ? remedies.map((one) => one.label) : [restart];
    const chosen = await tellError(problem?.message ?? '', [...labels, logs], () => this.server.failure?.message === problem?.message);
    // It stands there no more: what fails in the same way again is told again.
    this.telling = undefined;
    if (chosen === logs) {
      this.log.show();
      return;
    }
    if (chosen === restart) {
      await this.server.restart();
    }
    await this.perform(remedies.find((one) => one.label === chosen));
  }

  private async perform(remedy: Remedy | undefined): Promise<void> {
    try {
      await remedy?.perform();
    } catch (problem) {
      return this.tell(problem);
    }
    if (remedy?.again === true) {
      await this.server.restart();
    }
  }
}

/** What is wrong in a goal file, and the way to that line. */
async function tellGoal({ message, goalUri, line }: GoalProblem): Promise<void> {
  const open = vscode.l10n.t('Open Goal File');
  const chosen = await tellError(harmless(message), [open]);
  if (chosen === open) {
    const selection = new vscode.Range(line, 0, line, 0);
    await vscode.window.showTextDocument(vscode.Uri.parse(goalUri, true), { selection });
  }
}

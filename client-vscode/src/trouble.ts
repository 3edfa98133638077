import * as vscode from 'vscode';
import type { Server } from './client';
import type { Environment } from './environment';
import { say } from './notices';
import { Once } from './once';
import { harmless, messageOf, sentence } from './plainText';
import { differenceOf, SetupProblem } from './serverCommand';
import type { Offer, ServerProblem } from './services';

/** What the server tells of an error besides its message. */
interface ErrorData {
  /** What has to be there first. */
  readonly lacks?: 'model' | 'models' | 'key';
  /** The run that stands in the way. */
  readonly activeRunId?: string;
  /** Where the goal file has to be changed, from 0. */
  readonly line?: number;
}

export function dataOf(problem: unknown): ErrorData {
  const data = problem instanceof Error && 'data' in problem ? problem.data : undefined;
  return typeof data === 'object' && data !== null ? data : {};
}

/** How problems are told: a sentence, and buttons for what can be done about it. */
export class Trouble {
  private readonly once = new Once();
  private toldVersion: string | undefined;

  constructor(
    private readonly server: Pick<Server, 'onDidChangeState' | 'onDidStart' | 'state' | 'failure' | 'version' | 'outdated' | 'restart'>,
    private readonly environment: Pick<Environment, 'installsModels' | 'wantModels' | 'versionRemedies'>,
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

  /** What went wrong with a command, which is tried `again` once what it lacked is there; nothing for what was cancelled. */
  tell(problem: unknown, again?: () => Promise<void>): void {
    if (problem instanceof vscode.CancellationError) {
      return;
    }
    if (problem === this.server.failure) {
      this.tellServer();
      return;
    }
    const message = messageOf(problem);
    const { line } = dataOf(problem);
    const goalUri = problem instanceof Error && 'goalUri' in problem ? problem.goalUri : undefined;
    if (typeof goalUri === 'string' && line !== undefined) {
      const selection = new vscode.Range(line, 0, line, 0);
      const perform = (): Thenable<unknown> => vscode.window.showTextDocument(vscode.Uri.parse(goalUri, true), { selection });
      say('error', harmless(message), { buttons: [{ label: vscode.l10n.t('Open Goal File'), perform }] });
      return;
    }
    this.log.error(message);
    say('error', sentence(message), { buttons: this.remediesOf(problem, again).map((one) => this.offered(one)) });
  }

  private remediesOf(problem: unknown, again?: () => Promise<void>): readonly Offer[] {
    const { lacks } = dataOf(problem);
    return [
      ...(problem instanceof SetupProblem ? problem.offers : []),
      ...(lacks === 'model' ? [command(vscode.l10n.t('Choose Models'), 'donewhen.chooseModels')] : []),
      ...(lacks === 'models' && this.environment.installsModels() ? [this.install(again)] : []),
      ...(lacks === 'key' ? [command(vscode.l10n.t('Set API Key'), 'donewhen.setApiKey')] : []),
      showLogs(),
    ];
  }

  private install(again: () => Promise<void> = () => Promise.resolve()): Offer {
    const perform = async (): Promise<void> => {
      await this.installModels();
      await again();
    };
    return { label: vscode.l10n.t('Install Model Support'), perform };
  }

  /** Installs what calls models, and starts the server with it. */
  async installModels(): Promise<void> {
    await this.environment.wantModels();
    await this.server.restart();
  }

  /** What keeps the server from running, from running what the settings name, or from being the one that fits. */
  problem(): ServerProblem | undefined {
    const restart = { label: vscode.l10n.t('Restart Server'), perform: () => this.restart() };
    if (this.server.state === 'failed') {
      const problem = this.server.failure;
      const remedies = problem instanceof SetupProblem ? problem.offers : [];
      const offers = remedies.length > 0 ? remedies.map((one) => this.offered(one)) : [restart];
      return { message: problem?.message ?? '', offers };
    }
    if (this.server.outdated) {
      const message = vscode.l10n.t('These settings take effect once no run is in progress. Restart the server to use them now: the run is interrupted, and can be resumed.');
      return { message, offers: [restart] };
    }
    return this.server.state === 'running' ? this.otherVersion() : undefined;
  }

  private otherVersion(): ServerProblem | undefined {
    const difference = differenceOf(this.version, this.server.version);
    if (difference === undefined) {
      return undefined;
    }
    const names = { server: this.server.version ?? '', extension: this.version };
    const message =
      difference === 'older'
        ? vscode.l10n.t('The server is Done When {server}, older than the extension ({extension}). Update it.', names)
        : vscode.l10n.t('The server is Done When {server}, newer than the extension ({extension}). Update the extension.', names);
    return { message, offers: this.environment.versionRemedies().map((one) => this.offered(one)) };
  }

  /** That other settings wait for the end of a run. */
  tellOutdated(): void {
    this.tellProblem('information', () => this.server.outdated);
  }

  private tellVersion(): void {
    const version = this.server.version;
    if (differenceOf(this.version, version) !== undefined && this.toldVersion !== version) {
      this.toldVersion = version;
      this.log.warn(this.problem()?.message ?? '');
      this.tellProblem('warning', () => this.server.version === version);
    }
  }

  private tellProblem(kind: 'information' | 'warning', holds: () => boolean): void {
    const problem = this.problem();
    if (problem !== undefined) {
      say(kind, problem.message, { buttons: problem.offers, holds });
    }
  }

  /** A person asks for it: what fails as it did before is said again, though the words of before may still be listed. */
  restart(): Promise<void> {
    this.once.again();
    return this.server.restart();
  }

  private tellServer(): void {
    const problem = this.problem();
    const message = problem?.message ?? this.server.failure?.message ?? '';
    if (!this.once.tells(message)) {
      return;
    }
    say('error', message, {
      buttons: [...(problem?.offers ?? []), showLogs()],
      holds: () => this.server.failure?.message === message,
      closed: () => { this.once.closed(message); },
    });
  }

  /** What goes wrong with it is told with what can be done then, though the words of before may still be listed. */
  private offered(offer: Offer): Offer {
    const perform = async (): Promise<void> => {
      this.once.again();
      try {
        await offer.perform();
      } catch (problem) {
        this.tell(problem);
      }
    };
    return { label: offer.label, perform };
  }
}

function command(label: string, id: string): Offer {
  return { label, perform: () => vscode.commands.executeCommand(id) };
}

function showLogs(): Offer {
  return command(vscode.l10n.t('Show Logs'), 'donewhen.showLogs');
}

import * as vscode from 'vscode';
import type { Server } from './client';
import type { Environment } from './environment';
import { withoutLinks } from './messageText';
import { SetupProblem } from './setupProblem';

/** How problems are told: a sentence, and buttons for what can be done about it. */
export class Trouble {
  private telling = false;

  constructor(
    private readonly server: Server,
    private readonly environment: Environment,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** Why the server does not run, once for each time that it fails. */
  registerServer(): vscode.Disposable {
    return this.server.onDidChangeState((state) => {
      if (state === 'failed') {
        void this.tellServer();
      }
    });
  }

  /** What went wrong with a command; nothing for what a person cancelled. */
  async tell(problem: unknown): Promise<void> {
    if (problem instanceof vscode.CancellationError) {
      return;
    }
    if (problem === this.server.failure) {
      return this.tellServer();
    }
    const message = problem instanceof Error ? problem.message : String(problem);
    this.log.error(message);
    const install = vscode.l10n.t('Install Model Support');
    const logs = vscode.l10n.t('Show Logs');
    const needsModels = message.includes('donewhen[models]');
    const chosen = await vscode.window.showErrorMessage(withoutLinks(message), ...(needsModels ? [install] : []), logs);
    if (chosen === logs) {
      this.log.show();
    } else if (chosen === install) {
      await this.environment.wantModels();
      await this.server.restart();
    }
  }

  private async tellServer(): Promise<void> {
    if (this.telling) {
      return;
    }
    this.telling = true;
    try {
      await this.offerRemedies();
    } finally {
      this.telling = false;
    }
  }

  private async offerRemedies(): Promise<void> {
    const problem = this.server.failure;
    const remedies = problem instanceof SetupProblem ? problem.remedies : [];
    const restart = vscode.l10n.t('Restart Server');
    const logs = vscode.l10n.t('Show Logs');
    const labels = remedies.length > 0 ? remedies.map((one) => one.label) : [restart];
    const chosen = await vscode.window.showErrorMessage(problem?.message ?? '', ...labels, logs);
    if (chosen === logs) {
      this.log.show();
      return;
    }
    const remedy = remedies.find((one) => one.label === chosen);
    await remedy?.perform();
    if (remedy?.again === true || chosen === restart) {
      await this.server.restart();
    }
  }
}

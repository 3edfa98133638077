import * as vscode from 'vscode';
import { withoutMarks } from './goalNodes';
import type { Snapshot } from './protocol';
import type { Services } from './services';

/** The part of the git extension's interface that a commit is prepared with. */
interface Git {
  getAPI(version: 1): { getRepository(uri: vscode.Uri): { readonly inputBox: { value: string } } | null };
}

/** What was changed: in the source control view where the folder has one, else in the run's own timeline. */
export async function reviewChanges(services: Services, run: Snapshot): Promise<void> {
  if ((await repositoryOf(run)) !== undefined) {
    await vscode.commands.executeCommand('workbench.view.scm');
    return;
  }
  await vscode.commands.executeCommand('donewhen.showTimeline', { runId: run.runId, goalUri: run.goalUri });
  services.log.info('the folder is not a git repository: its changes are shown in the timeline');
}

/** Opens source control with a message ready; what a person has written there stays, and nothing is committed. */
export async function commit(run: Snapshot): Promise<void> {
  const repository = await repositoryOf(run);
  if (repository?.inputBox.value.trim() === '') {
    repository.inputBox.value = withoutMarks(run.title);
  }
  await vscode.commands.executeCommand('workbench.view.scm');
}

/** The run's receipt, a few lines of Markdown for a pull request; the report has all of it. */
export async function copyReceipt(services: Services, run: Snapshot): Promise<void> {
  const { text } = await services.client.request('donewhen.run.report', { runId: run.runId, format: 'short' });
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage(vscode.l10n.t('The receipt is on the clipboard.'), 5_000);
}

async function repositoryOf({ goalUri }: Snapshot): Promise<{ readonly inputBox: { value: string } } | undefined> {
  const git = vscode.extensions.getExtension<Git>('vscode.git');
  if (git === undefined || goalUri === null) {
    return undefined;
  }
  try {
    return (await git.activate()).getAPI(1).getRepository(vscode.Uri.parse(goalUri, true)) ?? undefined;
  } catch {
    return undefined; // Git is switched off by a setting, or missing.
  }
}

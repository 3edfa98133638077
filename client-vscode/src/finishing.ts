import * as vscode from 'vscode';
import { withoutMarks } from './goalNodes';
import type { Snapshot } from './protocol';
import type { Services } from './services';
import { pickRun, type Target } from './targets';

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
export async function commit(_services: Services, run: Snapshot): Promise<void> {
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

/** One of these, of the complete run that is meant: for the palette and menus. */
export function ofCompleteRun(
  perform: (services: Services, run: Snapshot) => Promise<void>,
): (services: Services, target: Target | undefined) => Promise<void> {
  return async (services, target) => {
    const none = vscode.l10n.t('No goal is complete here yet.');
    const run = await pickRun(services, target, (one) => one.status === 'complete', none);
    if (run !== undefined) {
      await perform(services, run);
    }
  };
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

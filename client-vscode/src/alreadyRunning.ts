import * as vscode from 'vscode';
import { label } from './askedText';
import { confirm } from './notices';
import type { Services } from './services';

/** What the server says where another run is pursued in the folder; there is one at a time. */
const ACTIVE = /^run (\S+) is active in this workspace/;

/** Begins a run, or goes on with one: where another one stands in the way, it says which, and offers to pause it. */
export async function oneAtATime(services: Services, goalUri: string | null, begin: () => Promise<unknown>): Promise<void> {
  try {
    await begin();
  } catch (problem) {
    const runId = ACTIVE.exec(problem instanceof Error ? problem.message : '')?.[1];
    if (runId === undefined) {
      throw problem;
    }
    const { snapshots } = await services.client.request('donewhen.run.status', {});
    const other = snapshots.find((one) => one.runId === runId);
    // A second press on Start asks for what is so already; the run may not even be on record yet.
    if (other !== undefined && other.goalUri !== goalUri) {
      await askToPause(services, runId, other.title, begin);
    }
  }
}

/** A dialog: it stands between a click and what was asked for by it, and must not hide. */
async function askToPause(services: Services, runId: string, title: string, begin: () => Promise<unknown>): Promise<void> {
  const pause = vscode.l10n.t('Pause It and Start This One');
  const message = vscode.l10n.t('A run of “{0}” is in progress in this folder, where only one goal can run at a time.', label(title));
  if ((await confirm(message, vscode.l10n.t('A run that is paused can be resumed.'), [pause])) === pause) {
    await services.client.request('donewhen.run.pause', { runId });
    await begin();
  }
}

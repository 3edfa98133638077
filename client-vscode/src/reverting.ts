import * as vscode from 'vscode';
import { harmless } from './askedText';
import { warn } from './notices';
import type { CommandResults } from './protocol';

export type Outcome = CommandResults['donewhen.run.revert'];

const MOST_NAMES = 5;

/** What was put back, and what was kept since a person edited it; true where they press the button that is given. */
export async function tellReverted({ changedFiles, kept }: Outcome, told = '', button?: string): Promise<boolean> {
  const done = told === '' ? vscode.l10n.t('{0} files are as they were before.', changedFiles.length) : told;
  if (kept.length === 0) {
    vscode.window.setStatusBarMessage(done, 8_000);
    return false;
  }
  const names = kept.slice(0, MOST_NAMES).map((uri) => harmless(vscode.workspace.asRelativePath(vscode.Uri.parse(uri))));
  const list = kept.length > names.length ? [...names, '…'].join(', ') : names.join(', ');
  const message = vscode.l10n.t('{0} Kept, since you edited them: {1}.', done, list);
  const pressed = await warn(message, button === undefined ? [] : [button]);
  return pressed !== undefined;
}

/** Where a person edited since, it asks before their edits go too. */
export async function tellOrForce(outcome: Outcome, force: () => Promise<Outcome>): Promise<void> {
  if (await tellReverted(outcome, '', vscode.l10n.t('Revert Them Too'))) {
    await tellReverted(await force());
  }
}

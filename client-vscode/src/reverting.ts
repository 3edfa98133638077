import * as vscode from 'vscode';
import { harmless } from './askedText';
import { say } from './notices';
import type { CommandResults } from './protocol';

export type Outcome = CommandResults['donewhen.run.revert'];

const MOST_NAMES = 5;

/** What was put back, and what was kept since a person edited it; with a button that does what is given. */
export function tellReverted({ changedFiles, kept }: Outcome, told = '', force?: () => Promise<void>): void {
  const done = told === '' ? vscode.l10n.t('{0} files are back as they were before.', changedFiles.length) : told;
  if (kept.length === 0) {
    vscode.window.setStatusBarMessage(done, 8_000);
    return;
  }
  const names = kept.slice(0, MOST_NAMES).map((uri) => harmless(vscode.workspace.asRelativePath(vscode.Uri.parse(uri))));
  const list = kept.length > names.length ? [...names, '…'].join(', ') : names.join(', ');
  const message = vscode.l10n.t('{0} Kept, since you edited them: {1}.', done, list);
  const buttons = force === undefined ? [] : [{ label: vscode.l10n.t('Revert Them Too'), perform: force }];
  say('warning', message, { buttons });
}

/** Where a person edited since, it asks before their edits go too. */
export function tellOrForce(outcome: Outcome, force: () => Promise<Outcome>): void {
  tellReverted(outcome, '', async () => {
    tellReverted(await force());
  });
}

import * as vscode from 'vscode';
import { REPORT_FORMATS, type Snapshot } from './protocol';
import type { Services } from './services';

/** The run's receipt, a few lines of Markdown for a pull request; the report has all of it. */
export async function copyReceipt({ request }: Pick<Services, 'request'>, { runId }: Snapshot): Promise<void> {
  await copied((await request('donewhen.run.report', { runId, format: 'short' })).text);
}

async function copied(receipt: string): Promise<void> {
  await vscode.env.clipboard.writeText(receipt);
  vscode.window.setStatusBarMessage(vscode.l10n.t('The receipt is on the clipboard.'), 5_000);
}

/** The receipt of a run in any format that the server has, as a file or on the clipboard. */
export async function saveReceipt({ request }: Pick<Services, 'request'>, { runId, goalUri }: Snapshot): Promise<void> {
  const formats = REPORT_FORMATS.map((one) => ({ label: one.name, description: one.about, format: one.name, file: one.file }));
  const form = await vscode.window.showQuickPick(formats, { title: vscode.l10n.t('Receipt: Format') });
  if (form === undefined) {
    return;
  }
  const save = { label: vscode.l10n.t('Save…'), saves: true };
  const copy = { label: vscode.l10n.t('Copy'), saves: false };
  const how = await vscode.window.showQuickPick([save, copy], { title: vscode.l10n.t('Receipt: What to Do With It') });
  if (how === undefined) {
    return;
  }
  const { text } = await request('donewhen.run.report', { runId, format: form.format });
  if (!how.saves) {
    await copied(text);
    return;
  }
  const folder = goalUri === null ? undefined : vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(goalUri, true));
  const proposed = folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder.uri, form.file) };
  const target = await vscode.window.showSaveDialog({ ...proposed, title: vscode.l10n.t('Save the Receipt') });
  if (target !== undefined) {
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
  }
}

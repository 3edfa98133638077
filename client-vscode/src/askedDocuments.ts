import * as vscode from 'vscode';
import { askedDocument, isDiff } from './askedText';
import { baseName, documentUri, SCHEME, type Shown, shownBy } from './documentUris';
import type { Interrupt } from './protocol';
import type { Services } from './services';
import { patched } from './unifiedDiff';

/** Opens what is asked: a change of a file in the diff editor, else the command, or the words. */
export async function openAsked(services: Services, runId: string, interruptId: string): Promise<void> {
  const found = asked(services, runId, interruptId);
  if (found === undefined) {
    return;
  }
  const { path } = found.input;
  if (isDiff(found.preview) && typeof path === 'string') {
    if ((await proposedText(services, found, { runId, path, side: 'after' })) !== undefined) {
      const side = (of: 'before' | 'after') =>
        vscode.Uri.from(documentUri({ kind: 'proposed', runId, interruptId, side: of, path }));
      const title = vscode.l10n.t('{0} (asked for)', baseName(path));
      await vscode.commands.executeCommand('vscode.diff', side('before'), side('after'), title, { preview: true });
      return;
    }
  }
  const uri = vscode.Uri.from(documentUri({ kind: 'interrupt', runId, interruptId }, extensionOf(found)));
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
}

/** The text of a document about an interrupt. */
export async function askedText(
  services: Services,
  shown: Extract<Shown, { kind: 'interrupt' | 'proposed' }>,
): Promise<string> {
  if (services.snapshots.get(shown.runId) === undefined) {
    // In a window that was just reloaded: answered once the server has started and told its runs.
    await services.client.request('donewhen.run.status', {});
  }
  const found = asked(services, shown.runId, shown.interruptId);
  const answered = vscode.l10n.t('This question has been answered.');
  if (found === undefined) {
    return answered;
  }
  if (shown.kind === 'proposed') {
    return (await proposedText(services, found, shown)) ?? answered;
  }
  return askedDocument(services.snapshots.get(shown.runId)?.title ?? '', found, vscode.l10n.t);
}

/** Closes the documents of questions that were answered: what they show is no longer asked. */
export function closeAnswered(services: Services): void {
  const over = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => isOver(services, tab));
  if (over.length > 0) {
    void vscode.window.tabGroups.close(over, true);
  }
}

function isOver(services: Services, { input }: vscode.Tab): boolean {
  const uri =
    input instanceof vscode.TabInputText ? input.uri : input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
  const shown = uri?.scheme === SCHEME ? shownBy(uri.query) : undefined;
  if (shown?.kind !== 'interrupt' && shown?.kind !== 'proposed') {
    return false;
  }
  // A window that was just reloaded doesn't know the run yet.
  const run = services.snapshots.get(shown.runId);
  return run !== undefined && asked(services, shown.runId, shown.interruptId) === undefined;
}

function asked({ snapshots }: Services, runId: string, interruptId: string): Interrupt | undefined {
  return snapshots.get(runId)?.interrupts.find((one) => one.id === interruptId);
}

function extensionOf({ preview, input }: Interrupt): string {
  if (isDiff(preview)) {
    return 'diff';
  }
  return input['command'] === preview ? 'sh' : 'txt';
}

interface Proposed {
  readonly runId: string;
  readonly path: string;
  readonly side: 'before' | 'after';
}

/** A side of the change that is asked for; undefined where the diff isn't about the file as it stands. */
async function proposedText(services: Services, { preview }: Interrupt, about: Proposed): Promise<string | undefined> {
  const uri = fileOfRun(services, about);
  const before = uri === undefined ? undefined : await textOf(uri);
  return before === undefined || about.side === 'before' ? before : patched(before, preview);
}

/** A file that isn't there yet is an empty one. */
async function textOf(uri: vscode.Uri): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await vscode.workspace.fs.readFile(uri));
  } catch (problem) {
    return problem instanceof vscode.FileSystemError && problem.code === 'FileNotFound' ? '' : undefined;
  }
}

/** Snapshots and tools name files relative to the workspace folder of the goal. */
export function fileOfRun(
  { snapshots }: Services,
  { runId, path }: { readonly runId?: string; readonly path?: string },
): vscode.Uri | undefined {
  const goal = snapshots.get(runId ?? '')?.goalUri;
  if (path === undefined || typeof goal !== 'string') {
    return undefined;
  }
  const goalUri = vscode.Uri.parse(goal, true);
  const folder = vscode.workspace.getWorkspaceFolder(goalUri)?.uri ?? vscode.Uri.joinPath(goalUri, '..');
  return vscode.Uri.joinPath(folder, path);
}

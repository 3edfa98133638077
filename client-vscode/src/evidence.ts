import * as vscode from 'vscode';
import { closeAnswered, fileOfRun, openAsked } from './askedDocuments';
import { Documents } from './documents';
import { baseName, documentUri, type Shown } from './documentUris';
import { type EvidenceName, OPEN_EVIDENCE } from './evidenceLinks';
import { say } from './notices';
import type { Services } from './services';
import { told } from './told';

/** Read-only documents: evidence, files after an iteration, reports, what an interrupt is about. */
export function registerEvidence(services: Services): vscode.Disposable {
  const over = services.snapshots.onDidChange(() => {
    closeAnswered(services);
  });
  return vscode.Disposable.from(
    new Documents(services),
    over,
    opens(OPEN_EVIDENCE, openEvidence),
    opens('donewhen.openStep', openStep),
    opens('donewhen.openReport', (given) => openReport(services, given)),
    opens('donewhen.openInterrupt', (given) => openInterrupt(services, given)),
    opens('donewhen.openIterationDiff', (given) => openDiff(services, given)),
  );
}

function opens(command: string, perform: (given: Given) => Promise<void>): vscode.Disposable {
  return vscode.commands.registerCommand(command, (about: unknown) => told(perform(read(about))));
}

/** The fields of a tree node, or of an argument that a lens or the timeline gives. */
interface Given {
  readonly runId?: string;
  readonly evidenceId?: string;
  readonly interruptId?: string;
  readonly stepId?: string;
  readonly diff?: boolean;
  readonly iteration?: number;
  readonly path?: string;
  readonly uri?: string;
}

function read(about: unknown): Given {
  return typeof about === 'object' && about !== null ? about : {};
}

/** The document that shows one evidence, however it is come to. */
export function evidenceUri({ runId, evidenceId }: EvidenceName): vscode.Uri {
  return vscode.Uri.from(documentUri({ kind: 'evidence', runId, evidenceId }));
}

async function openStep({ runId, stepId, diff }: Given): Promise<void> {
  if (runId !== undefined && stepId !== undefined) {
    await show({ kind: 'step', runId, stepId, diff: diff === true });
  }
}

async function openEvidence({ runId, evidenceId }: Given): Promise<void> {
  if (runId !== undefined && evidenceId !== undefined) {
    await show({ kind: 'evidence', runId, evidenceId });
  }
}

/** As a page: whoever wants its text finds it in the menu of the page. */
async function openReport(services: Services, given: Given): Promise<void> {
  const runId = given.runId ?? services.snapshots.all()[0]?.runId;
  if (runId === undefined) {
    say('information', vscode.l10n.t('There is no run to report on yet.'));
    return;
  }
  const uri = vscode.Uri.from(documentUri({ kind: 'report', runId }));
  // Rejects where it can't be made, which the page would only say.
  await services.client.request('donewhen.run.report', { runId, format: 'markdown' });
  try {
    await vscode.commands.executeCommand('markdown.showPreview', uri);
  } catch (problem) {
    services.log.warn(`no preview of Markdown: ${String(problem)}`);
    await show({ kind: 'report', runId });
  }
}

async function openInterrupt(services: Services, { runId, interruptId }: Given): Promise<void> {
  if (runId !== undefined && interruptId !== undefined) {
    await openAsked(services, runId, interruptId);
  }
}

async function show(shown: Shown): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.from(documentUri(shown)));
  await vscode.window.showTextDocument(document, { preview: true });
}

/** What one iteration changed in one file; the iteration before it, or the baseline, is on the left. */
async function openDiff(services: Services, given: Given): Promise<void> {
  const { runId, iteration } = given;
  const uri = given.uri ?? fileOfRun(services, given)?.toString();
  if (runId === undefined || iteration === undefined || uri === undefined) {
    return;
  }
  const side = (at: number) => vscode.Uri.from(documentUri({ kind: 'file', runId, iteration: at, uri }));
  const title = vscode.l10n.t('{0} (iteration {1})', baseName(uri), iteration);
  await vscode.commands.executeCommand('vscode.diff', side(iteration - 1), side(iteration), title, { preview: true });
}

import * as vscode from 'vscode';
import { askedText, closeAnswered, fileOfRun, openAsked } from './askedDocuments';
import { baseName, documentUri, SCHEME, shownBy, type Shown } from './documentUris';
import { type EvidenceName, OPEN_EVIDENCE } from './evidenceLinks';
import type { Services } from './services';
import { told } from './told';

/** A report that is open follows its run, no faster than it can be read. */
const FOLLOW_MS = 1_000;

/** Read-only documents: evidence, files after an iteration, reports, what an interrupt is about. */
export function registerEvidence(services: Services): vscode.Disposable {
  const documents = new Documents(services);
  return vscode.Disposable.from(
    documents,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, documents),
    opens(OPEN_EVIDENCE, openEvidence),
    opens('donewhen.openReport', (given) => openReport(services, given)),
    opens('donewhen.openInterrupt', (given) => openInterrupt(services, given)),
    opens('donewhen.openIterationDiff', (given) => openDiff(services, given)),
  );
}

function opens(command: string, perform: (given: Given) => Promise<void>): vscode.Disposable {
  return vscode.commands.registerCommand(command, (about: unknown) => told(perform(read(about))));
}

class Documents implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly missing = new Map<string, vscode.Uri>();
  private readonly subscriptions: readonly { dispose(): void }[];
  private timer: NodeJS.Timeout | undefined;
  readonly onDidChange = this.changed.event;

  constructor(private readonly services: Services) {
    const follow = services.snapshots.onDidChange(() => {
      closeAnswered(services);
      this.timer ??= setTimeout(() => {
        this.refreshReports();
      }, FOLLOW_MS);
    });
    const again = services.client.onDidStart(() => {
      for (const uri of this.missing.values()) {
        this.changed.fire(uri);
      }
    });
    this.subscriptions = [follow, again];
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const shown = shownBy(uri.query);
    if (shown === undefined) {
      throw new Error(vscode.l10n.t('This is no document of Done When.'));
    }
    return this.text(uri, shown, token);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscriptions.forEach((one) => {
      one.dispose();
    });
    this.changed.dispose();
  }

  private async text(uri: vscode.Uri, shown: Shown, token: vscode.CancellationToken): Promise<string> {
    const { client } = this.services;
    switch (shown.kind) {
      case 'evidence':
        return this.evidence(uri, { runId: shown.runId, evidenceId: shown.evidenceId }, token);
      case 'file':
        // A file that wasn't there is shown as an empty one: a diff says that it is new, or gone.
        return (await client.request('donewhen.run.file', fileArgument(shown), token)).text ?? '';
      case 'report':
        return (await client.request('donewhen.run.report', { runId: shown.runId, format: 'markdown' }, token)).text;
      case 'interrupt':
      case 'proposed':
        return askedText(this.services, shown);
    }
  }

  /** Evidence never changes. One that can't be had says why, and is asked for again when the server has started. */
  private async evidence(uri: vscode.Uri, name: EvidenceName, token: vscode.CancellationToken): Promise<string> {
    try {
      const text = await this.observed(name, token);
      this.missing.delete(uri.toString());
      return text;
    } catch (problem) {
      this.missing.set(uri.toString(), uri);
      const why = problem instanceof Error ? problem.message : String(problem);
      return `# ${vscode.l10n.t('Evidence {0}', name.evidenceId)}\n\n${vscode.l10n.t('It can’t be shown: {0}', why)}\n`;
    }
  }

  /** The server keeps evidence as a Markdown file; where that can't be read, it is shown as JSON. */
  private async observed(name: EvidenceName, token: vscode.CancellationToken): Promise<string> {
    const found = await this.services.client.request('donewhen.run.evidence', name, token);
    if (found.uri !== null) {
      try {
        return new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.parse(found.uri, true)));
      } catch (problem) {
        this.services.log.warn(`evidence ${name.evidenceId}: ${String(problem)}`);
      }
    }
    return `\`\`\`json\n${JSON.stringify(found, undefined, 2)}\n\`\`\`\n`;
  }

  private refreshReports(): void {
    this.timer = undefined;
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === SCHEME && shownBy(uri.query)?.kind === 'report') {
        this.changed.fire(uri);
      }
    }
  }
}

function fileArgument({ runId, iteration, uri }: Extract<Shown, { kind: 'file' }>) {
  return { runId, iteration, uri };
}

/** The fields of a tree node, or of an argument that a lens or the timeline gives. */
interface Given {
  readonly runId?: string;
  readonly evidenceId?: string;
  readonly interruptId?: string;
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

async function openEvidence({ runId, evidenceId }: Given): Promise<void> {
  if (runId !== undefined && evidenceId !== undefined) {
    await show({ kind: 'evidence', runId, evidenceId });
  }
}

/** As a page: whoever wants its text finds it in the menu of the page. */
async function openReport(services: Services, given: Given): Promise<void> {
  const runId = given.runId ?? services.snapshots.all()[0]?.runId;
  if (runId === undefined) {
    await vscode.window.showInformationMessage(vscode.l10n.t('There is no run to report on yet.'));
    return;
  }
  const uri = vscode.Uri.from(documentUri({ kind: 'report', runId }));
  // Rejects where it can't be made, which the preview would show as an empty page.
  await vscode.workspace.openTextDocument(uri);
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

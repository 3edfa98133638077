import * as vscode from 'vscode';
import { goalsText } from './chat';
import { asBytes, documentUri, GOALS, OPEN_EVIDENCE, SCHEME, type Shown, shownBy } from './documentUris';
import { told } from './notices';
import { baseName, messageOf } from './plainText';
import type { Asked, ChangedFile, Snapshot } from './protocol';
import type { Services } from './services';
import type { Target } from './targets';
import { Throttle } from './throttle';

type DocumentsServices = Pick<Services, 'request' | 'want' | 'onDidStart' | 'snapshots' | 'log'>;

/** Read-only documents: evidence, files after an iteration, reports, what an interrupt is about. */
export function registerDocuments(services: DocumentsServices): vscode.Disposable {
  return vscode.Disposable.from(
    new Documents(services),
    services.snapshots.onDidChange(() => {
      closeAnswered(services);
    }),
    opens(OPEN_EVIDENCE, async ({ runId, evidenceId }) => {
      if (runId !== undefined && evidenceId !== undefined) {
        await show(uriOf({ kind: 'evidence', runId, evidenceId }, `${evidenceId}.md`));
      }
    }),
    opens('donewhen.openStep', async ({ runId, stepId, diff }) => {
      if (runId !== undefined && stepId !== undefined) {
        const shown = { kind: 'step', runId, stepId, diff: diff === true } as const;
        await show(uriOf(shown, `${stepId}.${shown.diff ? 'diff' : 'txt'}`));
      }
    }),
    opens('donewhen.goalStatus', () => {
      services.want();
      return showPage(services, uriOf(GOALS, vscode.l10n.t('Goal Status.md')));
    }),
    opens('donewhen.openInterrupt', async ({ runId, interruptId }) => {
      if (runId !== undefined && interruptId !== undefined) {
        await openAsked(services, runId, interruptId);
      }
    }),
    opens('donewhen.openIterationDiff', (target) => openDiff(services, target)),
  );
}

function opens(command: string, perform: (target: Target) => Promise<void>): vscode.Disposable {
  return vscode.commands.registerCommand(command, (target: Target = {}) => told(perform(target)));
}

/** A file of a run as it was after an iteration; 0 is before the first one. */
export function fileUri(runId: string, iteration: number, uri: string): vscode.Uri {
  return uriOf({ kind: 'file', runId, iteration, uri }, `${iteration}/${baseName(uri)}`);
}

/** A file before an attempt, or as the attempt left it. */
export function attemptUri(attempts: string, number: number, runId: string, uri: string, side: 'before' | 'after'): vscode.Uri {
  return uriOf({ kind: 'attempt', runId, attempts, number, uri, side }, `${side}/${baseName(uri)}`);
}

function uriOf(shown: Shown, name: string): vscode.Uri {
  return vscode.Uri.from(documentUri(shown, name));
}

/** As a page: whoever wants its text finds it in the menu of the page. */
export async function openReport(services: Pick<Services, 'request' | 'log'>, { runId }: Snapshot): Promise<void> {
  // Rejects where it can't be made, which the page would only say.
  await services.request('donewhen.run.report', { runId, format: 'markdown' });
  await showPage(services, uriOf({ kind: 'report', runId }, 'report.md'));
}

async function showPage({ log }: Pick<Services, 'log'>, uri: vscode.Uri): Promise<void> {
  try {
    await vscode.commands.executeCommand('markdown.showPreview', uri);
  } catch (problem) {
    log.warn(`no preview of Markdown: ${String(problem)}`);
    await show(uri);
  }
}

async function show(uri: vscode.Uri): Promise<void> {
  await vscode.window.showTextDocument(uri, { preview: true });
}

/** What one iteration changed in one file; the iteration before it, or the baseline, is on the left. */
async function openDiff(services: DocumentsServices, target: Target): Promise<void> {
  const { runId, iteration } = target;
  const uri = target.uri ?? fileOfRun(services, target)?.toString();
  if (runId === undefined || iteration === undefined || uri === undefined) {
    return;
  }
  const title = vscode.l10n.t('{0} (iteration {1})', baseName(uri), iteration);
  await vscode.commands.executeCommand('vscode.diff', fileUri(runId, iteration - 1, uri), fileUri(runId, iteration, uri), title, { preview: true });
}

/** Files that changed, in one editor. Both sides have the file's own path: another one is shown as a renaming. */
export async function openChanges(title: string, files: readonly ChangedFile[], before: (uri: string) => vscode.Uri, now: (uri: string) => vscode.Uri): Promise<void> {
  const sides = files.map((one) => {
    const file = vscode.Uri.parse(one.uri, true);
    return [file, ...[one.before && before(one.uri), one.now && now(one.uri)].map((side) => (side ? side.with({ path: file.path }) : undefined))];
  });
  await vscode.commands.executeCommand('vscode.changes', title, sides);
}

/** A report that is open follows its run, no faster than it can be read. */
const FOLLOW_MS = 1_000;

/** What a document shows now, and since when. */
interface Kept {
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly mtime: number;
}

/**
 * The documents as files that nobody can write: editors of files come back after a reload of the window, which those of a
 * `TextDocumentContentProvider` don't.
 */
class Documents implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  /** The editor reads a file anew only where its time is another one. */
  private readonly kept = new Map<string, Kept>();
  private readonly reading = new Map<string, Promise<Kept>>();
  private readonly missing = new Map<string, vscode.Uri>();
  private readonly subscriptions: vscode.Disposable;
  readonly onDidChangeFile = this.changed.event;
  readonly createDirectory = refuse;
  readonly writeFile = refuse;
  readonly delete = refuse;
  readonly rename = refuse;

  constructor(private readonly services: DocumentsServices) {
    const following = new Throttle(() => {
      this.refresh(openPages());
    }, FOLLOW_MS);
    this.subscriptions = vscode.Disposable.from(
      following,
      services.snapshots.onDidChange(() => {
        following.want();
      }),
      services.onDidStart(() => {
        this.refresh([...this.missing.values()]);
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        this.kept.delete(uri.toString());
        this.missing.delete(uri.toString());
      }),
      vscode.workspace.registerFileSystemProvider(SCHEME, this, { isCaseSensitive: true, isReadonly: true }),
      this.changed,
    );
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { bytes, mtime } = await this.read(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime, size: bytes.length };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return (await this.read(uri)).bytes;
  }

  /** Changes are told of whether somebody watches or not. */
  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  /** What the editor asks at once, for the time and for the text, is asked of the server once. */
  private read(uri: vscode.Uri): Promise<Kept> {
    const key = uri.toString();
    const found = this.reading.get(key) ?? this.renew(uri).finally(() => this.reading.delete(key));
    this.reading.set(key, found);
    return found;
  }

  private async renew(uri: vscode.Uri): Promise<Kept> {
    const shown = shownBy(uri.query);
    if (shown === undefined) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    const text = await this.text(uri, shown);
    const before = this.kept.get(uri.toString());
    if (before?.text === text) {
      return before;
    }
    const now = { text, bytes: asBytes(text), mtime: Math.max(Date.now(), (before?.mtime ?? 0) + 1) };
    this.kept.set(uri.toString(), now);
    return now;
  }

  /** What can't be shown says why, and is asked for again when the server has started. */
  private async text(uri: vscode.Uri, shown: Shown): Promise<string> {
    try {
      if (shown.kind === 'goals') {
        return `# ${vscode.l10n.t('Goals')}\n\n${await goalsText(this.services)}\n`;
      }
      const { text } = await this.services.request('donewhen.run.document', shown);
      this.missing.delete(uri.toString());
      return text ?? vscode.l10n.t('This question has been answered.');
    } catch (problem) {
      this.missing.set(uri.toString(), uri);
      return `${vscode.l10n.t('This can’t be shown: {0}', messageOf(problem))}\n`;
    }
  }

  private refresh(uris: readonly vscode.Uri[]): void {
    if (uris.length > 0) {
      this.changed.fire(uris.map((uri) => ({ type: vscode.FileChangeType.Changed, uri })));
    }
  }
}

function refuse(uri: vscode.Uri): never {
  throw vscode.FileSystemError.NoPermissions(uri);
}

function openPages(): vscode.Uri[] {
  const uris = vscode.workspace.textDocuments.map(({ uri }) => uri);
  return uris.filter((uri) => uri.scheme === SCHEME && ['report', 'goals'].includes(shownBy(uri.query)?.kind ?? ''));
}

/** Opens what is asked: a change of a file in the diff editor, else the command, or the words. */
async function openAsked(services: DocumentsServices, runId: string, interruptId: string): Promise<void> {
  const found = askedIn(services, runId, interruptId);
  if (found === undefined) {
    return;
  }
  const { path, extension } = found;
  if (path !== null && (await services.request('donewhen.run.proposed', { runId, interruptId })).after !== null) {
    const side = (of: 'before' | 'after') => uriOf({ kind: 'proposed', runId, interruptId, side: of }, `${interruptId}/${of}/${baseName(path)}`);
    const title = vscode.l10n.t('{0} (asked for)', baseName(path));
    await vscode.commands.executeCommand('vscode.diff', side('before'), side('after'), title, { preview: true });
    return;
  }
  await show(uriOf({ kind: 'interrupt', runId, interruptId }, `${interruptId}.${extension}`));
}

/** Closes the documents of questions that were answered: what they show is no longer asked. */
function closeAnswered(services: DocumentsServices): void {
  const over = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => isOver(services, tab));
  if (over.length > 0) {
    void vscode.window.tabGroups.close(over, true);
  }
}

function isOver(services: DocumentsServices, { input }: vscode.Tab): boolean {
  const uri =
    input instanceof vscode.TabInputText ? input.uri : input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
  const shown = uri?.scheme === SCHEME ? shownBy(uri.query) : undefined;
  if (shown?.kind !== 'interrupt' && shown?.kind !== 'proposed') {
    return false;
  }
  // A window that was just reloaded doesn't know the run yet.
  const run = services.snapshots.get(shown.runId);
  return run !== undefined && askedIn(services, shown.runId, shown.interruptId) === undefined;
}

function askedIn({ snapshots }: DocumentsServices, runId: string, interruptId: string | undefined): Asked | undefined {
  return snapshots.get(runId)?.view.asked.find((one) => one.id === interruptId);
}

/** Snapshots and tools name files relative to the workspace folder of the goal. */
function fileOfRun({ snapshots }: DocumentsServices, { runId, path }: Target): vscode.Uri | undefined {
  const goal = snapshots.get(runId ?? '')?.goalUri;
  if (path === undefined || typeof goal !== 'string') {
    return undefined;
  }
  const goalUri = vscode.Uri.parse(goal, true);
  const folder = vscode.workspace.getWorkspaceFolder(goalUri)?.uri ?? vscode.Uri.joinPath(goalUri, '..');
  return vscode.Uri.joinPath(folder, path);
}

import * as vscode from 'vscode';
import { askedText } from './askedDocuments';
import { SCHEME, type Shown, shownBy } from './documentUris';
import { asBytes } from './documentBytes';
import type { CommandResults } from './protocol';
import type { Services } from './services';

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
export class Documents implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  /** The editor reads a file anew only where its time is another one. */
  private readonly kept = new Map<string, Kept>();
  private readonly reading = new Map<string, Promise<Kept>>();
  private readonly missing = new Map<string, vscode.Uri>();
  private readonly subscriptions: vscode.Disposable;
  private timer: NodeJS.Timeout | undefined;
  readonly onDidChangeFile = this.changed.event;

  constructor(private readonly services: Services) {
    this.subscriptions = vscode.Disposable.from(
      services.snapshots.onDidChange(() => {
        this.timer ??= setTimeout(() => {
          this.timer = undefined;
          this.refresh(openReports());
        }, FOLLOW_MS);
      }),
      services.client.onDidStart(() => {
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

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  writeFile(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  dispose(): void {
    clearTimeout(this.timer);
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
      const text = await textOf(this.services, shown);
      this.missing.delete(uri.toString());
      return text;
    } catch (problem) {
      this.missing.set(uri.toString(), uri);
      const why = problem instanceof Error ? problem.message : String(problem);
      return `${vscode.l10n.t('This can’t be shown: {0}', why)}\n`;
    }
  }

  private refresh(uris: readonly vscode.Uri[]): void {
    if (uris.length > 0) {
      this.changed.fire(uris.map((uri) => ({ type: vscode.FileChangeType.Changed, uri })));
    }
  }
}

function openReports(): vscode.Uri[] {
  const uris = vscode.workspace.textDocuments.map(({ uri }) => uri);
  return uris.filter((uri) => uri.scheme === SCHEME && shownBy(uri.query)?.kind === 'report');
}

async function textOf(services: Services, shown: Shown): Promise<string> {
  const { client } = services;
  switch (shown.kind) {
    case 'evidence':
      return observed(services, shown);
    case 'file':
      // A file that wasn't there is shown as an empty one: a diff says that it is new, or gone.
      return fileText(services, shown);
    case 'report':
      return (await client.request('donewhen.run.report', { runId: shown.runId, format: 'markdown' })).text;
    case 'step':
      return stepText(services, shown);
    case 'interrupt':
    case 'proposed':
      return askedText(services, shown);
  }
}

async function fileText({ client }: Services, shown: Extract<Shown, { kind: 'file' }>): Promise<string> {
  return (await client.request('donewhen.run.file', fileArgument(shown))).text ?? '';
}

/** All that is kept of what one step of a run printed, said or changed. */
async function stepText({ client }: Services, { runId, stepId, diff }: Extract<Shown, { kind: 'step' }>): Promise<string> {
  const [step] = (await client.request('donewhen.run.activity', { runId, stepId })).steps;
  return (diff ? step?.diff : step?.text) ?? '';
}

function fileArgument({ runId, iteration, uri }: Extract<Shown, { kind: 'file' }>) {
  return { runId, iteration, uri };
}

/** The server keeps evidence as a Markdown file; where that can't be read, it is shown as JSON. */
async function observed({ client, log }: Services, { runId, evidenceId }: Extract<Shown, { kind: 'evidence' }>): Promise<string> {
  const found: CommandResults['donewhen.run.evidence'] = await client.request('donewhen.run.evidence', { runId, evidenceId });
  if (found.uri !== null) {
    try {
      return new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.parse(found.uri, true)));
    } catch (problem) {
      log.warn(`evidence ${evidenceId}: ${String(problem)}`);
    }
  }
  return `\`\`\`json\n${JSON.stringify(found, undefined, 2)}\n\`\`\`\n`;
}

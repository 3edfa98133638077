import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { told } from '../notices';
import { label, messageOf } from '../plainText';
import type { Row, Snapshot, Step } from '../protocol';
import type { Services } from '../services';
import { pursuit, shownRuns } from '../snapshots';
import { pickOne, pickRun, type Target } from '../targets';
import { type Action, type ChartRow, type FromPage, type ToPage, wordsOf } from './messages';
import { changedRows, chartRows, headerOf } from './model';

type TimelineServices = Pick<Services, 'request' | 'want' | 'serverState' | 'onDidStart' | 'onActivity' | 'snapshots' | 'log' | 'context'>;

const VIEW = 'donewhen.timeline';

/** The timeline of a run: score and cost over its iterations, each of them in full on demand. */
export function registerTimeline(services: TimelineServices): vscode.Disposable {
  let timeline: Timeline | undefined;
  const adopt = (panel: vscode.WebviewPanel, runId: string | undefined) => {
    const adopted = new Timeline(services, panel, runId);
    timeline = adopted;
    panel.onDidDispose(() => {
      adopted.dispose();
      timeline = timeline === adopted ? undefined : timeline;
    });
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('donewhen.showTimeline', async (target: Target = {}) => {
      const runId = target.runId ?? (await chosenRun(services));
      const aside = target.aside === true;
      if (runId !== undefined && timeline !== undefined) {
        timeline.show(runId, aside);
      } else if (runId !== undefined) {
        adopt(createPanel(services, aside), runId);
      }
    }),
    vscode.commands.registerCommand('donewhen.hint', async (target: Target = {}) => {
      const runId = target.runId ?? (await hintableRun(services));
      if (runId !== undefined) {
        await vscode.commands.executeCommand('donewhen.showTimeline', { runId });
        timeline?.hint();
      }
    }),
    vscode.window.registerWebviewPanelSerializer(VIEW, {
      deserializeWebviewPanel: (panel, state: Target | undefined) => {
        if (timeline === undefined) {
          panel.webview.options = webviewOptions(services);
          adopt(panel, state?.runId);
        } else {
          // The tab of before the reload, which is made only when it is looked at: there is another one by now.
          panel.dispose();
          timeline.reveal();
        }
        return Promise.resolve();
      },
    }),
    { dispose: () => timeline?.dispose() },
  );
}

class Timeline {
  /** The rows of the iterations of runs, also of those that a snapshot no longer holds. */
  private readonly history = new Map<string, Map<number, Row>>();
  private readonly subscriptions: { dispose(): void }[];
  private posted = new Map<number, ChartRow>();
  private postedRun: string | undefined;
  /** The run whose steps the server tells. */
  private followed: string | undefined;
  private wantsHint = false;
  private ready = false;
  private disposed = false;

  constructor(
    private readonly services: TimelineServices,
    private readonly panel: vscode.WebviewPanel,
    private runId: string | undefined,
  ) {
    this.subscriptions = [
      services.snapshots.onDidChange((changed) => {
        this.follow(changed);
      }),
      services.onDidStart(() => {
        // A server that was started anew follows nothing yet.
        if (this.followed !== undefined) {
          void this.followSteps(this.followed);
        }
        void this.post();
      }),
      services.onActivity(({ runId: run, steps }) => {
        if (run === this.postedRun) {
          this.sendSteps(run, steps);
        }
      }),
      panel.webview.onDidReceiveMessage((message: FromPage) => {
        this.received(message);
      }),
    ];
    services.want();
    panel.webview.html = timelineHtml(panel.webview, services.context.extensionUri);
  }

  /** `aside`: beside what the person looks at, and without the focus. */
  show(runId: string, aside: boolean): void {
    this.runId = runId;
    if (!aside) {
      this.reveal();
    } else if (!this.panel.visible) {
      this.panel.reveal(vscode.ViewColumn.Beside, true);
    }
    void this.post();
  }

  reveal(): void {
    this.panel.reveal();
  }

  /** The field for a hint has the focus, once the page shows it. */
  hint(): void {
    this.wantsHint = true;
    this.focusHint();
  }

  dispose(): void {
    this.disposed = true;
    this.unfollow();
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  /** The next run of the same goal takes the place of one that has ended. */
  private follow(changed: string | undefined): void {
    const goalUri = this.snapshot()?.goalUri ?? undefined;
    const runs = this.services.snapshots.all().filter((one) => one.worker !== null && one.goalUri === goalUri);
    const [newest] = goalUri === undefined ? [] : runs;
    if (newest !== undefined && newest.runId !== this.runId) {
      this.runId = newest.runId;
      void this.post();
    } else if (changed === undefined || changed === this.runId) {
      void this.post();
    }
  }

  private snapshot(): Snapshot | undefined {
    const { snapshots } = this.services;
    this.runId ??= shownRuns(snapshots.all())[0]?.runId;
    const meant = snapshots.get(this.runId ?? '');
    const shown = meant && pursuit(meant, snapshots.all());
    this.runId = shown?.runId ?? this.runId;
    return shown;
  }

  private received(message: FromPage): void {
    switch (message.kind) {
      case 'ready':
        this.ready = true;
        this.postedRun = undefined;
        void this.post();
        break;
      case 'expand':
        void this.postDetail(message.runId, message.number);
        break;
      case 'hint':
        void this.sendHint(message.runId, message.text);
        break;
      case 'open':
        open(message.runId, message.action);
    }
  }

  /** Sends what the page doesn't show yet. */
  private async post(): Promise<void> {
    const snapshot = this.snapshot();
    if (!this.ready) {
      return;
    }
    if (snapshot === undefined) {
      this.sayNone();
      return;
    }
    const known = await this.rowsOf(snapshot);
    const { runId } = snapshot;
    if (this.disposed || runId !== this.runId) {
      return;
    }
    const rows = chartRows(known, snapshot.view.timeline.underWay, vscode.l10n.t);
    const header = headerOf(snapshot, rows, vscode.l10n.t);
    this.panel.title = vscode.l10n.t('Timeline: {0}', snapshot.title);
    if (this.postedRun === runId) {
      this.send({ kind: 'update', runId, header, rows: changedRows(this.posted, rows) });
    } else {
      this.send({ kind: 'run', runId, words: wordsOf(vscode.l10n.t), header, rows });
    }
    if (this.postedRun !== runId) {
      this.unfollow();
      void this.followSteps(runId);
    }
    this.postedRun = runId;
    this.focusHint();
    this.posted = new Map(rows.map((row) => [row.number, row]));
  }

  /** What the run did so far, and from now on each step as it happens. */
  private async followSteps(runId: string): Promise<void> {
    this.followed = runId;
    try {
      this.sendSteps(runId, (await this.services.request('donewhen.run.activity', { runId, follow: true })).steps);
    } catch (problem) {
      this.services.log.warn(`activity: ${String(problem)}`);
    }
  }

  private unfollow(): void {
    const { followed: runId } = this;
    this.followed = undefined;
    if (runId !== undefined && this.services.serverState() === 'running') {
      const request = this.services.request('donewhen.run.activity', { runId, follow: false });
      request.catch(() => undefined);
    }
  }

  private sendSteps(runId: string, steps: readonly Step[]): void {
    this.send({ kind: 'steps', runId, steps });
  }

  private async sendHint(runId: string, text: string): Promise<void> {
    try {
      const { message } = await this.services.request('donewhen.run.hint', { runId, text });
      this.send({ kind: 'hinted', runId, text: message, failed: false });
    } catch (problem) {
      this.send({ kind: 'hinted', runId, text: messageOf(problem), failed: true });
    }
  }

  private focusHint(): void {
    if (this.wantsHint && this.ready && this.postedRun !== undefined) {
      this.wantsHint = false;
      this.send({ kind: 'focusHint', runId: this.postedRun });
    }
  }

  /** Once it is known which runs there are; a page that shows one keeps it. */
  private sayNone(): void {
    if (this.services.serverState() === 'running' && this.postedRun === undefined) {
      this.send({ kind: 'none', text: vscode.l10n.t('There is no run to show yet. Set a goal first.') });
    }
  }

  /** A snapshot holds the last iterations only; the others are asked for once. */
  private async rowsOf(snapshot: Snapshot): Promise<Row[]> {
    const { runId } = snapshot;
    const known = this.history.get(runId) ?? new Map<number, Row>();
    this.history.set(runId, known);
    const first = snapshot.view.timeline.rows[0]?.number ?? 1;
    if (first > 1 && !known.has(first - 1)) {
      try {
        const { snapshots } = await this.services.request('donewhen.run.status', { runId, allIterations: true });
        snapshots[0]?.view.timeline.rows.forEach((row) => known.set(row.number, row));
      } catch (problem) {
        this.services.log.warn(`timeline: ${String(problem)}`);
      }
    }
    (this.services.snapshots.get(runId) ?? snapshot).view.timeline.rows.forEach((row) => known.set(row.number, row));
    return [...known.values()].sort((one, other) => one.number - other.number);
  }

  private async postDetail(runId: string, number: number): Promise<void> {
    let sections;
    try {
      ({ sections } = await this.services.request('donewhen.run.iteration', { runId, number }));
    } catch (problem) {
      const line = { lead: '', text: messageOf(problem), note: '', tone: 'bad' as const, evidenceId: null, uri: null };
      sections = [{ title: '', lines: [line] }];
    }
    this.send({ kind: 'detail', runId, number, sections });
  }

  private send(message: ToPage): void {
    if (!this.disposed) {
      void this.panel.webview.postMessage(message);
    }
  }
}

function createPanel(services: TimelineServices, aside: boolean): vscode.WebviewPanel {
  const title = vscode.l10n.t('Timeline');
  const viewColumn = aside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  return vscode.window.createWebviewPanel(VIEW, title, { viewColumn, preserveFocus: aside }, webviewOptions(services));
}

/** The only folder that the page may load from. */
function pageFolder(extension: vscode.Uri): vscode.Uri {
  return vscode.Uri.joinPath(extension, 'dist', 'timeline');
}

/** The page: its own script and style, and nothing from anywhere else. */
function timelineHtml(webview: vscode.Webview, extension: vscode.Uri): string {
  const file = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(pageFolder(extension), name)).toString();
  const nonce = randomBytes(16).toString('base64url');
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}';`;
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${file('page.css')}">
  <title>${vscode.l10n.t('Timeline')}</title>
</head>
<body>
  <main id="timeline"><p>${vscode.l10n.t('Loading…')}</p></main>
  <script nonce="${nonce}" src="${file('page.js')}"></script>
</body>
</html>`;
}

/** Opens what a button of the page is about: of files, those of the workspace alone, whatever a page may name. */
function open(runId: string, action: Action): void {
  const { executeCommand } = vscode.commands;
  if (action.kind === 'step') {
    void executeCommand('donewhen.openStep', { runId, stepId: action.stepId, diff: action.diff });
  } else if (action.kind === 'evidence') {
    void executeCommand('donewhen.openEvidence', { runId, evidenceId: action.evidenceId });
  } else if (action.kind === 'change') {
    void executeCommand('donewhen.openIterationDiff', { runId, iteration: action.number, uri: action.uri });
  } else if (vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(action.uri)) !== undefined) {
    void told(Promise.resolve(vscode.window.showTextDocument(vscode.Uri.parse(action.uri), { preview: true })));
  }
}

function webviewOptions({ context }: TimelineServices): vscode.WebviewOptions {
  return { enableScripts: true, localResourceRoots: [pageFolder(context.extensionUri)] };
}

async function hintableRun(services: TimelineServices): Promise<string | undefined> {
  const none = vscode.l10n.t('No worker is running. Start a run with an agent or a command first.');
  return (await pickRun(services, undefined, ({ view }) => view.hintable, none))?.runId;
}

async function chosenRun({ snapshots }: TimelineServices): Promise<string | undefined> {
  const chosen = await pickOne(shownRuns(snapshots.all()), {
    none: vscode.l10n.t('There is no run to show yet. Set a goal first.'),
    title: vscode.l10n.t('Show the timeline of which goal?'),
    item: ({ title, goalUri }) => {
      const description = goalUri === null ? '' : vscode.workspace.asRelativePath(vscode.Uri.parse(goalUri));
      return { label: label(title), description };
    },
  });
  return chosen?.runId;
}

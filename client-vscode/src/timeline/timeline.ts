import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { told } from '../notices';
import { label, messageOf } from '../plainText';
import type { Snapshot } from '../protocol';
import type { Services } from '../services';
import { pursuit, shownRuns } from '../snapshots';
import { pickOne, pickRun, type Target } from '../targets';
import type { FromPage, Link, ToPage } from './messages';

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
  private readonly subscriptions: vscode.Disposable;
  /** The run that the page shows. */
  private shown: string | undefined;
  /** The run whose steps the server tells. */
  private followed: string | undefined;
  /** The run that the page is about to show. */
  private beginning: string | undefined;
  private wantsHint = false;
  private ready = false;
  /** Whether the page, which outlives a server, shows a run. */
  private showsRun = false;
  private disposed = false;

  constructor(
    private readonly services: TimelineServices,
    private readonly panel: vscode.WebviewPanel,
    private runId: string | undefined,
  ) {
    this.subscriptions = vscode.Disposable.from(
      services.snapshots.onDidChange((changed) => {
        this.follow(changed);
      }),
      services.onDidStart(() => {
        this.beginAgain();
      }),
      services.onActivity(({ runId: run, steps }) => {
        if (run === this.shown) {
          this.send({ kind: 'steps', runId: run, steps });
        }
      }),
      panel.webview.onDidReceiveMessage((message: FromPage) => {
        void this.received(message);
      }),
    );
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
    this.post();
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
    this.subscriptions.dispose();
  }

  /** The next run of the same goal takes the place of one that has ended. */
  private follow(changed: string | undefined): void {
    const goalUri = this.snapshot()?.goalUri ?? undefined;
    const runs = this.services.snapshots.all().filter((one) => one.worker !== null && one.goalUri === goalUri);
    const [newest] = goalUri === undefined ? [] : runs;
    if (newest !== undefined && newest.runId !== this.runId) {
      this.runId = newest.runId;
      this.post();
    } else if (changed === undefined || changed === this.runId) {
      this.post();
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

  private async received(message: FromPage): Promise<void> {
    switch (message.kind) {
      case 'ready':
        this.ready = true;
        this.showsRun = false;
        this.beginAgain();
        break;
      case 'expand':
        await this.sendDetail(message.runId, message.number);
        break;
      case 'hint':
        await this.sendHint(message.runId, message.text);
        break;
      case 'open':
        open(message.runId, message.link);
    }
  }

  /** A page that was just made shows nothing yet; a server that was just started follows nothing yet. */
  private beginAgain(): void {
    this.shown = undefined;
    this.post();
  }

  private post(): void {
    const run = this.snapshot();
    if (!this.ready || this.disposed) {
      return;
    }
    if (run === undefined) {
      this.sayNone();
    } else if (run.runId === this.shown) {
      this.sendRun(run);
    } else if (run.runId !== this.beginning) {
      void this.begin(run);
    }
  }

  /** A snapshot holds the last iterations only: the others are asked for once. Then come the steps, those of before first. */
  private async begin({ runId, view }: Snapshot): Promise<void> {
    this.beginning = runId;
    const earlier = (view.timeline.rows[0]?.number ?? 1) > 1;
    const [whole] = earlier ? await this.asked(this.services.request('donewhen.run.status', { runId, allIterations: true }), ({ snapshots }) => snapshots) : [];
    const run = this.snapshot();
    if (this.beginning === runId) {
      this.beginning = undefined;
    }
    if (run?.runId !== runId || this.disposed) {
      this.post();
      return;
    }
    if (this.followed !== runId) {
      this.unfollow();
    }
    this.shown = runId;
    this.followed = runId;
    this.sendRun(run, whole);
    this.focusHint();
    const steps = await this.asked(this.services.request('donewhen.run.activity', { runId, follow: true }), (activity) => activity.steps);
    this.send({ kind: 'steps', runId, steps });
  }

  /** What a request gives; nothing where it fails, which the log says. */
  private async asked<A, T>(request: Promise<A>, of: (answer: A) => readonly T[]): Promise<readonly T[]> {
    try {
      return of(await request);
    } catch (problem) {
      this.services.log.warn(`timeline: ${String(problem)}`);
      return [];
    }
  }

  private sendRun({ runId, title, view: { hintable, timeline } }: Snapshot, whole?: Snapshot): void {
    this.showsRun = true;
    this.panel.title = vscode.l10n.t('Timeline: {0}', title);
    const rows = [...(whole?.view.timeline.rows ?? []), ...timeline.rows];
    this.send({ kind: 'run', runId, title, hintable, timeline: { ...timeline, rows } });
  }

  private unfollow(): void {
    const { followed: runId } = this;
    this.followed = undefined;
    if (runId !== undefined && this.services.serverState() === 'running') {
      this.services.request('donewhen.run.activity', { runId, follow: false }).catch(() => undefined);
    }
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
    if (this.wantsHint && this.shown !== undefined) {
      this.wantsHint = false;
      this.send({ kind: 'focusHint', runId: this.shown });
    }
  }

  /** Once it is known which runs there are; a page that shows one keeps it. */
  private sayNone(): void {
    if (this.services.serverState() === 'running' && !this.showsRun) {
      this.send({ kind: 'none', text: vscode.l10n.t('There is no run to show yet. Set a goal first.') });
    }
  }

  private async sendDetail(runId: string, number: number): Promise<void> {
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
<html lang="en">
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

const OPENS: ReadonlySet<string> = new Set(['openEvidence', 'openIterationDiff', 'openStep'] satisfies Link['opens'][]);

/** Opens what a link of the page is about: of files, those of the workspace alone, whatever a page may name. */
function open(runId: string, { opens, ...about }: Link): void {
  if (OPENS.has(opens)) {
    void vscode.commands.executeCommand(`donewhen.${opens}`, { runId, ...about });
  } else if ('uri' in about && vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(about.uri)) !== undefined) {
    void told(Promise.resolve(vscode.window.showTextDocument(vscode.Uri.parse(about.uri), { preview: true })));
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

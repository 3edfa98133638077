import * as vscode from 'vscode';
import { label } from '../askedText';
import { shownRuns } from '../goalTree';
import { allIterations, History, reportedIterations } from '../history';
import { say } from '../notices';
import type { Snapshot, Step } from '../protocol';
import type { Services } from '../services';
import { pursuit } from '../snapshots';
import { isHintable, readWhen, stepView } from './activity';
import { iterationSections } from './detail';
import { pickRun } from '../targets';
import { pageFolder, timelineHtml } from './html';
import { type FromPage, fromPage, type Row, type ToPage } from './messages';
import { changedRows, timelineHeader, timelineRows } from './model';
import { open } from './opening';
import { timelineWords } from './words';

const VIEW = 'donewhen.timeline';

/** The timeline of a run: score and cost over its iterations, each of them in full on demand. */
export function registerTimeline(services: Services): vscode.Disposable {
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
    vscode.commands.registerCommand('donewhen.showTimeline', async (about: unknown) => {
      const runId = runOf(about) ?? (await chosenRun(services));
      const aside = isAside(about);
      if (runId !== undefined && timeline !== undefined) {
        timeline.show(runId, aside);
      } else if (runId !== undefined) {
        adopt(createPanel(services, aside), runId);
      }
    }),
    vscode.commands.registerCommand('donewhen.hint', async (about: unknown) => {
      const runId = runOf(about) ?? (await hintableRun(services));
      if (runId !== undefined) {
        await vscode.commands.executeCommand('donewhen.showTimeline', { runId });
        timeline?.hint();
      }
    }),
    vscode.window.registerWebviewPanelSerializer(VIEW, {
      deserializeWebviewPanel: (panel, state) => {
        if (timeline === undefined) {
          panel.webview.options = webviewOptions(services);
          adopt(panel, runOf(state));
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
  private readonly history: History;
  private readonly subscriptions: { dispose(): void }[];
  private posted = new Map<number, Row>();
  private postedRun: string | undefined;
  /** The run whose steps the server tells. */
  private followed: string | undefined;
  private wantsHint = false;
  private ready = false;
  private disposed = false;

  constructor(
    private readonly services: Services,
    private readonly panel: vscode.WebviewPanel,
    private runId: string | undefined,
  ) {
    this.history = new History(async (run) => {
      const report = await services.client.request('donewhen.run.report', { runId: run, format: 'json' });
      return reportedIterations(report.text);
    });
    this.subscriptions = [
      services.snapshots.onDidChange((changed) => {
        this.follow(changed);
      }),
      services.client.onDidStart(() => {
        // A server that was started anew follows nothing yet.
        if (this.followed !== undefined) {
          void this.followSteps(this.followed);
        }
        void this.post();
      }),
      services.client.onActivity(({ runId: run, steps }) => {
        if (run === this.postedRun) {
          this.sendSteps(run, steps);
        }
      }),
      panel.webview.onDidReceiveMessage((message: unknown) => {
        this.received(fromPage(message));
      }),
    ];
    services.client.want();
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

  private received(message: FromPage | undefined): void {
    if (message?.kind === 'ready') {
      this.ready = true;
      this.postedRun = undefined;
      void this.post();
    } else if (message?.kind === 'expand') {
      void this.postDetail(message.runId, message.number);
    } else if (message?.kind === 'hint') {
      void this.sendHint(message.runId, message.text);
    } else if (message?.kind === 'open') {
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
    await this.loadEarlier(snapshot);
    const { runId } = snapshot;
    if (this.disposed || runId !== this.runId) {
      return;
    }
    const rows = timelineRows(snapshot, allIterations(snapshot, this.history.of(runId)), vscode.l10n);
    const header = timelineHeader(snapshot, rows, vscode.l10n);
    this.panel.title = vscode.l10n.t('Timeline: {0}', snapshot.title);
    if (this.postedRun === runId) {
      this.send({ kind: 'update', runId, header, rows: changedRows(this.posted, rows) });
    } else {
      this.send({ kind: 'run', runId, words: timelineWords(vscode.l10n), header, rows });
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
      this.sendSteps(runId, (await this.services.client.request('donewhen.run.activity', { runId, follow: true })).steps);
    } catch (problem) {
      this.services.log.warn(`activity: ${String(problem)}`);
    }
  }

  private unfollow(): void {
    const { followed: runId } = this;
    this.followed = undefined;
    if (runId !== undefined && this.services.client.state === 'running') {
      const request = this.services.client.request('donewhen.run.activity', { runId, follow: false });
      request.catch(() => undefined);
    }
  }

  private sendSteps(runId: string, steps: readonly Step[]): void {
    this.send({ kind: 'steps', runId, steps: steps.map((step) => stepView(step, vscode.l10n)) });
  }

  private async sendHint(runId: string, text: string): Promise<void> {
    try {
      const taken = await this.services.client.request('donewhen.run.hint', { runId, text });
      this.send({ kind: 'hinted', runId, text: readWhen(taken, vscode.l10n), failed: false });
    } catch (problem) {
      const why = problem instanceof Error ? problem.message : String(problem);
      this.send({ kind: 'hinted', runId, text: why, failed: true });
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
    if (this.services.client.state === 'running' && this.postedRun === undefined) {
      this.send({ kind: 'none', text: vscode.l10n.t('There is no run to show yet. Set a goal first.') });
    }
  }

  /** A snapshot holds the last iterations only; the others are asked for once. */
  private async loadEarlier(snapshot: Snapshot): Promise<void> {
    const earlier = this.history.of(snapshot.runId);
    const first = snapshot.iterations[0]?.number ?? 1;
    if (first > 1 && earlier.at(-1)?.number !== first - 1 && !earlier.some((one) => one.number === first - 1)) {
      await this.history.load(snapshot.runId).catch((problem: unknown) => {
        this.services.log.warn(`timeline: ${String(problem)}`);
      });
    }
    this.history.remember(this.services.snapshots.get(snapshot.runId) ?? snapshot);
  }

  private async postDetail(runId: string, number: number): Promise<void> {
    let sections;
    try {
      const detail = await this.services.client.request('donewhen.run.iteration', { runId, number });
      sections = iterationSections(detail, this.paths(runId, number), vscode.l10n);
    } catch (problem) {
      const text = problem instanceof Error ? problem.message : String(problem);
      sections = [{ title: '', lines: [{ lead: '', text, note: '', tone: 'bad' as const, action: undefined }] }];
    }
    this.send({ kind: 'detail', runId, number, sections });
  }

  private paths(runId: string, number: number): readonly string[] {
    const iterations = [...(this.services.snapshots.get(runId)?.iterations ?? []), ...this.history.of(runId)];
    return iterations.find((one) => one.number === number)?.changedFiles ?? [];
  }

  private send(message: ToPage): void {
    if (!this.disposed) {
      void this.panel.webview.postMessage(message);
    }
  }
}

function createPanel(services: Services, aside: boolean): vscode.WebviewPanel {
  const title = vscode.l10n.t('Timeline');
  const viewColumn = aside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  return vscode.window.createWebviewPanel(VIEW, title, { viewColumn, preserveFocus: aside }, webviewOptions(services));
}

function webviewOptions({ context }: Services): vscode.WebviewOptions {
  return { enableScripts: true, localResourceRoots: [pageFolder(context.extensionUri)] };
}

function runOf(about: unknown): string | undefined {
  const given = typeof about === 'object' && about !== null && 'runId' in about ? about.runId : undefined;
  return typeof given === 'string' ? given : undefined;
}

function isAside(about: unknown): boolean {
  return typeof about === 'object' && about !== null && 'aside' in about && about.aside === true;
}

function placeOf({ goalUri }: Snapshot): string {
  return goalUri === null ? '' : vscode.workspace.asRelativePath(vscode.Uri.parse(goalUri));
}

async function hintableRun(services: Services): Promise<string | undefined> {
  const none = vscode.l10n.t('No worker is running. Start a run with an agent or a command first.');
  return (await pickRun(services, undefined, isHintable, none))?.runId;
}

async function chosenRun({ snapshots }: Services): Promise<string | undefined> {
  const runs = shownRuns(snapshots.all());
  if (runs.length <= 1) {
    if (runs[0] === undefined) {
      say('information', vscode.l10n.t('There is no run to show yet. Set a goal first.'));
    }
    return runs[0]?.runId;
  }
  const picks = runs.map((run) => ({ label: label(run.title), description: placeOf(run), runId: run.runId }));
  const title = vscode.l10n.t('Show the timeline of which goal?');
  return (await vscode.window.showQuickPick(picks, { title }))?.runId;
}

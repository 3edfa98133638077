import * as vscode from 'vscode';
import { label } from './askedText';
import { allPass, fromCheck, type OfferedCheck, stateOf } from './checkStates';
import { workerItems } from './choosing';
import type { KnownGoal } from './knownGoals';
import { type Likely, likelyObjectives } from './likely';
import type { Choice, Live, Proposed } from './quickSteps';
import type { Services } from './services';

const TICKED = new vscode.ThemeIcon('pass-filled');
const OPEN = new vscode.ThemeIcon('circle-large-outline');
const MOST_IN_LABEL = 100;

/** What ends the second step. */
export interface GoalChoice extends Choice {
  readonly ends?: 'start' | 'draft';
}

/** What a new goal is made of, while it is asked for. The checks are tried meanwhile. */
export class NewGoal implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly trying = new vscode.CancellationTokenSource();
  private readonly left = new Set<string>();
  private readonly added: OfferedCheck[] = [];
  private offered: readonly OfferedCheck[] = [];
  private likely: readonly Likely[] = [];
  private waiting: 'looking' | 'trying' | undefined = 'looking';
  readonly onDidChange = this.changed.event;
  /** Settles once it is known which checks there are; rejects with why they can't be. */
  readonly detected: Promise<void>;
  /** What was typed for it; empty where a proposal was taken. */
  typed = '';
  objective = '';

  constructor(
    private readonly services: Services,
    readonly folder: vscode.WorkspaceFolder,
    public worker: string,
    private readonly known?: KnownGoal,
  ) {
    this.typed = known?.objective ?? '';
    this.objective = this.typed;
    known?.checks.forEach((check) => {
      this.add(check);
    });
    this.detected = this.detect();
    // What goes wrong is told at the step that needs it, which a person may never come to.
    this.detected.catch(() => undefined);
    void likelyObjectives(folder).then((found) => {
      this.likely = found;
      this.changed.fire();
    });
  }

  /** The commands that are to prove it. */
  get picked(): readonly string[] {
    return this.ticked().map((check) => check.command);
  }

  /** Whether a run can begin with it, and would show something. */
  get starts(): boolean {
    return vscode.workspace.isTrusted && this.shows(this.ticked());
  }

  private shows(ticked: readonly OfferedCheck[]): boolean {
    return this.requirements.length > 0 || (ticked.length > 0 && !allPass(ticked));
  }

  get objectives(): Live<Proposed> {
    return live(this, () => this.proposed(), () => this.waiting !== undefined);
  }

  get choices(): Live<GoalChoice> {
    return live(this, () => this.rows(), () => this.waiting !== undefined);
  }

  add(command: string): void {
    this.left.delete(command);
    if (!this.all().some((check) => check.command === command)) {
      const why = vscode.l10n.t('your own');
      this.added.push({ command, why, suggested: true, leftOut: null, standing: null, reason: null, seconds: null });
    }
    this.changed.fire();
  }

  /** Ends what is still tried in the background: the run tries it anew. */
  settle(): void {
    this.trying.cancel();
  }

  dispose(): void {
    this.trying.cancel();
    this.trying.dispose();
    this.changed.dispose();
  }

  private all(): readonly OfferedCheck[] {
    const found = new Set(this.offered.map((check) => check.command));
    return [...this.offered, ...this.added.filter((check) => !found.has(check.command))];
  }

  private ticked(): readonly OfferedCheck[] {
    return this.all().filter((check) => !this.left.has(check.command));
  }

  private async detect(): Promise<void> {
    const { client } = this.services;
    const where = { workspaceUri: this.folder.uri.toString() };
    const { checks } = await client.request('donewhen.goal.detect', where);
    this.leaveOut(checks);
    this.take(checks, vscode.workspace.isTrusted ? 'trying' : undefined);
    if (vscode.workspace.isTrusted) {
      void this.tryThem();
    }
  }

  /** What no command decides. */
  get requirements(): readonly string[] {
    return this.known?.requirements ?? [];
  }

  /** What is known to decide it is ticked, and nothing else; the project's own checks are offered beside it. */
  private get decided(): boolean {
    return this.known !== undefined && this.known.requirements.length + this.known.checks.length > 0;
  }

  private leaveOut(checks: readonly OfferedCheck[]): void {
    const offered = new Set(this.all().map((check) => check.command));
    checks
      .filter((check) => !check.suggested || (this.decided && !offered.has(check.command)))
      .forEach((check) => this.left.add(check.command));
  }

  private async tryThem(): Promise<void> {
    const argument = { workspaceUri: this.folder.uri.toString(), tryChecks: true };
    try {
      const { checks } = await this.services.client.request('donewhen.goal.detect', argument, this.trying.token);
      // What can't be run here turns out when it is tried; what would do instead is offered, and ticked.
      const known = new Set(this.offered.map((check) => check.command));
      checks.filter((check) => check.suggested && !known.has(check.command)).forEach((check) => this.left.delete(check.command));
      this.leaveOut(checks);
      this.take(checks, undefined);
    } catch (problem) {
      if (!this.trying.token.isCancellationRequested) {
        this.services.log.warn(`the checks were not tried: ${String(problem)}`);
        this.take(this.offered, undefined);
      }
    }
  }

  private take(checks: readonly OfferedCheck[], waiting: 'trying' | undefined): void {
    this.offered = checks;
    this.waiting = waiting;
    this.changed.fire();
  }

  private proposed(): Proposed[] {
    const failing = this.offered.flatMap((check): Likely[] => {
      const objective = fromCheck(check, vscode.l10n.t);
      const source = check.reason ?? vscode.l10n.t('a check that fails now');
      return objective === undefined ? [] : [{ objective, source, icon: 'beaker' }];
    });
    const edit = { iconPath: new vscode.ThemeIcon('edit'), tooltip: vscode.l10n.t('Edit Before Taking It') };
    return [...failing, ...this.likely].map(({ objective, source, icon }) => ({
      label: label((objective.split('\n', 1)[0] ?? '').slice(0, MOST_IN_LABEL)),
      description: label(source),
      iconPath: new vscode.ThemeIcon(icon),
      text: objective,
      buttons: objective.includes('\n') ? [] : [edit],
    }));
  }

  private rows(): GoalChoice[] {
    return [...this.endings(), ...this.requirementRows(), ...this.checkRows(), ...this.workerRows()];
  }

  private endings(): GoalChoice[] {
    const draft: GoalChoice = { label: vscode.l10n.t('Only Draft the Goal'), iconPath: new vscode.ThemeIcon('file'), ends: 'draft' };
    if (this.starts) {
      const start = vscode.l10n.t('Set Goal and Start');
      return [{ label: start, description: this.summary(), iconPath: new vscode.ThemeIcon('play'), ends: 'start' }, draft];
    }
    return [{ ...draft, label: vscode.l10n.t('Set Goal'), description: this.summary() }];
  }

  /** What Enter does, in a few words. */
  private summary(): string {
    const ticked = this.ticked();
    if (this.waiting === 'looking') {
      return vscode.l10n.t('Looking for checks in this project…');
    }
    if (ticked.length === 0 && this.requirements.length > 0) {
      return vscode.l10n.t('{0}; the Problems panel proves it', workerLabel(this.worker));
    }
    if (ticked.length === 0) {
      return vscode.l10n.t('no check yet: type a command, or write one in the goal file');
    }
    if (!this.shows(ticked)) {
      return vscode.l10n.t('all checks pass already: add one that fails until it is done');
    }
    const worker = workerLabel(this.worker);
    return ticked.length === 1
      ? vscode.l10n.t('{0}; 1 check proves it', worker)
      : vscode.l10n.t('{0}; {1} checks prove it', worker, ticked.length);
  }

  /** They are what was asked for: shown, and not to be left out. */
  private requirementRows(): GoalChoice[] {
    const rows = this.requirements.map((text): GoalChoice => ({ label: label(text), iconPath: TICKED, toggle: () => undefined }));
    return rows.length === 0 ? [] : [separator(vscode.l10n.t('What should be true')), ...rows];
  }

  private checkRows(): GoalChoice[] {
    const rows = this.all().map((check): GoalChoice => {
      const out = this.left.has(check.command);
      const state = stateOf(check, this.waiting === 'trying', vscode.l10n.t);
      return {
        label: label(check.command),
        description: label(out ? vscode.l10n.t('left out · {0}', state) : state),
        iconPath: out ? OPEN : TICKED,
        toggle: () => {
          if (!this.left.delete(check.command)) {
            this.left.add(check.command);
          }
          this.changed.fire();
        },
      };
    });
    return rows.length === 0 ? [] : [separator(vscode.l10n.t('Checks that prove it')), ...rows];
  }

  private workerRows(): GoalChoice[] {
    const rows = workerItems().map((item): GoalChoice => {
      const chosen = item.worker === this.worker;
      const about = item.description ?? '';
      return {
        label: item.label,
        description: chosen ? vscode.l10n.t('chosen · {0}', about) : about,
        iconPath: chosen ? TICKED : OPEN,
        settles: true,
        toggle: () => {
          this.worker = item.worker;
          this.changed.fire();
        },
      };
    });
    return [separator(vscode.l10n.t('Who works on it')), ...rows];
  }
}

function workerLabel(worker: string): string {
  return workerItems().find((item) => item.worker === worker)?.label ?? worker;
}

function separator(text: string): GoalChoice {
  return { label: text, kind: vscode.QuickPickItemKind.Separator };
}

function live<T>(goal: NewGoal, items: () => readonly T[], busy: () => boolean): Live<T> {
  return {
    get items() {
      return items();
    },
    get busy() {
      return busy();
    },
    onDidChange: goal.onDidChange,
  };
}

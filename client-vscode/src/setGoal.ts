import * as vscode from 'vscode';
import { currentWorker, type FoundAgent, prepareWorker, workerItems } from './choosing';
import { OWN_SOURCE } from './editorProblems';
import { isGoalFile } from './goalFiles';
import { say } from './notices';
import { OfferedChecks } from './offeredChecks';
import { harmless, label } from './plainText';
import type { CommandArguments, CommandResults, SeenProblemArgument } from './protocol';
import { Back, editButton, type Live, type Proposed, quickStep, textStep } from './quickSteps';
import type { Services } from './services';
import { hasFolder } from './targets';

type SetGoalServices = Pick<Services, 'request' | 'keys' | 'log' | 'context'>;

type Proposal = CommandResults['donewhen.goal.propose']['proposals'][number];

const TICKED = new vscode.ThemeIcon('pass-filled');
const OPEN = new vscode.ThemeIcon('circle-large-outline');
const MOST_IN_LABEL = 100;

/** Asks for the objective, then for what proves it and who works on it; the goal opens, and starts where it can. */
export async function setGoal(services: SetGoalServices): Promise<void> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const folder =
    folders.length > 1
      ? await vscode.window.showWorkspaceFolderPick({ placeHolder: vscode.l10n.t('The goal of which folder?') })
      : folders[0];
  if (folder !== undefined) {
    await drafted(services, new NewGoal(services, folder, currentWorker()), ask);
  } else if (folders.length === 0) {
    hasFolder();
  }
}

async function drafted(services: SetGoalServices, goal: NewGoal, asking: (goal: NewGoal) => Promise<GoalChoice['ends']>): Promise<void> {
  try {
    const ends = await asking(goal);
    if (ends !== undefined) {
      const starts = ends === 'start' && goal.starts;
      const { objective, picked, worker, folder, requirements } = goal;
      const said = requirements.length === 0 ? {} : { requirements };
      goal.settle();
      const about = { objective, workspaceUri: folder.uri.toString(), checks: picked, worker, ...said };
      const { goalUri, editor } = await draftAndShow(services, about, !starts);
      // The goal is there whatever becomes of the worker: it can be started later.
      const ready = await prepareWorker(services, worker);
      if (!starts) {
        await fillIn(editor);
      } else if (ready) {
        await vscode.commands.executeCommand('donewhen.start', { goalUri });
      }
    }
  } finally {
    goal.dispose();
  }
}

/** The steps, forth and back; undefined where the person leaves. */
async function ask(goal: NewGoal): Promise<GoalChoice['ends']> {
  for (;;) {
    const objective = await textStep({
      title: vscode.l10n.t('Set Goal: what should be true when it is done?'),
      step: 1,
      totalSteps: 2,
      value: goal.typed,
      placeholder: vscode.l10n.t('Such as: Export handles quotes and newlines'),
      list: goal.objectives,
    });
    if (objective === undefined || objective === Back) {
      return undefined;
    }
    goal.typed = goal.objectives.items().some((one) => one.text === objective) ? '' : objective;
    goal.objective = objective;
    const chosen = await askProof(goal);
    if (chosen !== Back) {
      return chosen?.ends;
    }
  }
}

function askProof(goal: NewGoal): Promise<GoalChoice | typeof Back | undefined> {
  return quickStep<GoalChoice, GoalChoice>({
    title: vscode.l10n.t('Set Goal: what proves it, and who works on it?'),
    step: 2,
    totalSteps: 2,
    placeholder: vscode.l10n.t('Press Enter, or change what is below first. Type a command to add a check.'),
    list: goal.choices,
    typed: (command) => ({ item: { label: vscode.l10n.t('Add the Check `{0}`', command) }, alone: false }),
    accept: (text, item) => {
      // It was typed to find an item, or is a check to add.
      const isFound = item?.toggle !== undefined && item.label.toLowerCase().startsWith(text.toLowerCase());
      if (text !== '' && !isFound) {
        goal.add(text);
      } else if (item?.toggle !== undefined) {
        item.toggle();
      } else if (item !== undefined) {
        return goal.detected.then(() => item);
      }
      return undefined;
    },
  });
}

/** The goal file, drafted and saved by the server, opens. */
async function draftAndShow(
  services: SetGoalServices,
  about: CommandArguments['donewhen.goal.set'],
  tells: boolean,
): Promise<{ goalUri: string; editor: vscode.TextEditor }> {
  const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Drafting the goal') };
  const { goalUri, notes = [] } = await vscode.window.withProgress(options, () => services.request('donewhen.goal.set', about));
  for (const note of notes) {
    services.log.info(note);
  }
  if (tells && notes.length > 0) {
    say('information', vscode.l10n.t('The goal is drafted: {0}', harmless(notes.join('; '))));
  }
  return { goalUri, editor: await vscode.window.showTextDocument(vscode.Uri.parse(goalUri)) };
}

/** Where the draft has a check to be filled in, the commands that are known are offered there. */
async function fillIn(editor: vscode.TextEditor): Promise<void> {
  const { document } = editor;
  const empty = /^\s+- check:[ \t]*$/m.exec(document.getText());
  if (empty !== null) {
    const { range } = document.lineAt(document.positionAt(empty.index + empty[0].length));
    editor.selection = new vscode.Selection(range.end, range.end);
    editor.revealRange(range);
    await vscode.commands.executeCommand('editor.action.triggerSuggest');
  }
}

// ------------------------------------------------------------------------------------------ a goal of a problem or a test

/** An error that Problems shows. */
interface Problem {
  readonly uri: vscode.Uri;
  readonly message: string;
}

/** What a menu of the Testing view hands over: a test of any extension, or one of the messages of a failure. */
type FromTests = vscode.TestItem | { readonly test: vscode.TestItem; readonly message: vscode.TestMessage };

export type Fixable = Problem | FromTests;

/** Offers `Fix This` on the errors that other tools report: what Problems says decides when it is done. */
export function registerFixThis(): vscode.Disposable {
  const title = vscode.l10n.t('Done When: Fix This');
  const provider: vscode.CodeActionProvider = {
    provideCodeActions: ({ uri }, _range, { diagnostics }) =>
      isGoalFile(uri) || vscode.workspace.getWorkspaceFolder(uri) === undefined
        ? []
        : diagnostics.filter(isError).map((one) => {
            const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
            const problem: Problem = { uri, message: one.message };
            action.command = { command: 'donewhen.fixThis', title, arguments: [problem] };
            action.diagnostics = [one];
            return action;
          }),
  };
  const metadata = { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] };
  return vscode.languages.registerCodeActionsProvider({ scheme: 'file' }, provider, metadata);
}

/** A mark of ours stands for a requirement, and has a goal already. */
function isError({ severity, source }: vscode.Diagnostic): boolean {
  return severity === vscode.DiagnosticSeverity.Error && source !== OWN_SOURCE;
}

/** Makes a goal of a problem, or of a test that fails: only what proves it, and who works on it, is asked. */
export async function fixThis(services: SetGoalServices, what: Fixable): Promise<void> {
  const uri = 'test' in what ? what.test.uri : what.uri;
  const folder = uri === undefined ? vscode.workspace.workspaceFolders?.[0] : vscode.workspace.getWorkspaceFolder(uri);
  if (folder === undefined) {
    return;
  }
  const about = { workspaceUri: folder.uri.toString(), ...seenOf(what) };
  const [known] = (await services.request('donewhen.goal.propose', about)).proposals;
  await drafted(services, new NewGoal(services, folder, currentWorker(), known), async (goal) => {
    const chosen = await askProof(goal);
    return chosen === Back ? ask(goal) : chosen?.ends;
  });
}

function seenOf(what: Fixable): CommandArguments['donewhen.goal.propose'] {
  if (!('test' in what) && 'message' in what) {
    return { problem: { path: relative(what.uri), line: 0, message: what.message } };
  }
  const [{ id, label: name, uri }, message] = 'test' in what ? [what.test, what.message.message] : [what, ''];
  const path = uri === undefined ? {} : { path: relative(uri) };
  return { test: { id, name, ...path, message: typeof message === 'string' ? message : message.value } };
}

function relative(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, false);
}

const MOST_PROBLEMS = 3;

/** What is before the person, from which the server tells what they are likely to want. */
async function seenHere(folder: vscode.WorkspaceFolder): Promise<CommandArguments['donewhen.goal.propose']> {
  const editor = vscode.window.activeTextEditor;
  const document = editor?.document.uri.scheme === 'file' ? editor.document : undefined;
  // A browser asks for leave, or complains, whenever the clipboard is read.
  const clipboard = vscode.env.uiKind === vscode.UIKind.Web ? '' : await vscode.env.clipboard.readText();
  return {
    workspaceUri: folder.uri.toString(),
    clipboard,
    problems: problemsIn(folder, document?.uri.toString()),
    ...(editor && document && { selection: document.getText(editor.selection), line: document.lineAt(editor.selection.active.line).text }),
  };
}

/** Errors that the editor shows, those of the file in view first. */
function problemsIn(folder: vscode.WorkspaceFolder, active: string | undefined): SeenProblemArgument[] {
  return vscode.languages
    .getDiagnostics()
    .filter(([uri]) => vscode.workspace.getWorkspaceFolder(uri)?.uri.toString() === folder.uri.toString())
    .flatMap(([uri, problems]) => problems.filter(isError).map((one) => ({ uri, one })))
    .sort((a, b) => Number(b.uri.toString() === active) - Number(a.uri.toString() === active))
    .slice(0, MOST_PROBLEMS)
    .map(({ uri, one }) => ({ path: vscode.workspace.asRelativePath(uri), line: one.range.start.line, message: one.message }));
}

// ------------------------------------------------------------------------------------------ while it is asked for

/** What the second step lists: what changes the goal, and what ends the step. */
interface GoalChoice extends vscode.QuickPickItem {
  toggle?(): void;
  readonly ends?: 'start' | 'draft';
}

/** What a new goal is made of, while it is asked for. The checks are tried meanwhile. */
class NewGoal implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly trying = new vscode.CancellationTokenSource();
  private readonly checks: OfferedChecks;
  private likely: readonly Proposal[] = [];
  private waiting: 'looking' | 'trying' | undefined = 'looking';
  /** Settles once it is known which checks there are; rejects with why they can't be. */
  readonly detected: Promise<void>;
  readonly objectives: Live<Proposed>;
  readonly choices: Live<GoalChoice>;
  private agents: readonly FoundAgent[] = [];
  /** What no command decides. */
  readonly requirements: readonly string[];
  /** What was typed for it; empty where a proposal was taken. */
  typed: string;
  objective: string;

  constructor(
    private readonly services: SetGoalServices,
    readonly folder: vscode.WorkspaceFolder,
    public worker: string,
    known?: Proposal,
  ) {
    this.typed = known?.objective ?? '';
    this.objective = this.typed;
    this.requirements = known?.requirements ?? [];
    this.checks = new OfferedChecks(this.requirements, known?.checks ?? [], vscode.l10n.t('your own'));
    this.objectives = this.live(() => this.proposed());
    this.choices = this.live(() => [...this.endings(), ...this.requirementRows(), ...this.checkRows(), ...this.workerRows()]);
    this.detected = this.detect();
    // What goes wrong is told at the step that needs it, which a person may never come to.
    this.detected.catch(() => undefined);
    void this.look();
  }

  /** The commands that are to prove it. */
  get picked(): readonly string[] {
    return this.checks.taken.map((check) => check.command);
  }

  /** Whether a run can begin with it, and would show something. */
  get starts(): boolean {
    return vscode.workspace.isTrusted && this.checks.shows;
  }

  add(command: string): void {
    this.checks.add(command);
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

  private live<T>(items: () => readonly T[]): Live<T> {
    return { items, busy: () => this.waiting !== undefined, onDidChange: this.changed.event };
  }

  private async look(): Promise<void> {
    try {
      this.likely = (await this.services.request('donewhen.goal.propose', await seenHere(this.folder))).proposals;
      this.changed.fire();
    } catch (problem) {
      this.services.log.warn(`nothing is proposed: ${String(problem)}`);
    }
  }

  private async detect(): Promise<void> {
    const { checks, agents } = await this.services.request('donewhen.goal.detect', { workspaceUri: this.folder.uri.toString() });
    this.agents = agents;
    this.checks.take(checks);
    this.wait(vscode.workspace.isTrusted ? 'trying' : undefined);
    if (vscode.workspace.isTrusted) {
      void this.tryThem();
    }
  }

  private async tryThem(): Promise<void> {
    const argument = { workspaceUri: this.folder.uri.toString(), tryChecks: true };
    try {
      const { checks } = await this.services.request('donewhen.goal.detect', argument, this.trying.token);
      this.checks.take(checks);
      this.wait(undefined);
    } catch (problem) {
      if (!this.trying.token.isCancellationRequested) {
        this.services.log.warn(`the checks were not tried: ${String(problem)}`);
        this.wait(undefined);
      }
    }
  }

  private wait(waiting: 'trying' | undefined): void {
    this.waiting = waiting;
    this.changed.fire();
  }

  /** What a check that fails now asks for, then what else is likely. */
  private proposed(): Proposed[] {
    const failing = this.checks.failing.map(({ command, reason }) => ({
      objective: vscode.l10n.t('Make `{0}` pass', command),
      source: reason ?? vscode.l10n.t('a check that fails now'),
      icon: 'beaker',
    }));
    return [...failing, ...this.likely].map(({ objective, source, icon }) => ({
      label: label((objective.split('\n', 1)[0] ?? '').slice(0, MOST_IN_LABEL)),
      description: label(source),
      iconPath: new vscode.ThemeIcon(icon),
      text: objective,
      buttons: objective.includes('\n') ? [] : [editButton()],
    }));
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
    const { length } = this.checks.taken;
    const worker = workerItems(this.agents).find((item) => item.worker === this.worker)?.label ?? this.worker;
    if (this.waiting === 'looking') {
      return vscode.l10n.t('Looking for checks in this project…');
    }
    if (length === 0) {
      return this.requirements.length > 0
        ? vscode.l10n.t('{0}; the Problems panel proves it', worker)
        : vscode.l10n.t('no check yet: type a command, or write one in the goal file');
    }
    if (!this.checks.shows) {
      return vscode.l10n.t('all checks pass already: add one that fails until it is done');
    }
    return length === 1 ? vscode.l10n.t('{0}; 1 check proves it', worker) : vscode.l10n.t('{0}; {1} checks prove it', worker, length);
  }

  /** They are what was asked for: shown, and not to be left out. */
  private requirementRows(): GoalChoice[] {
    return section(vscode.l10n.t('What should be true'), this.requirements.map((text) => ({ label: label(text), iconPath: TICKED, toggle: () => undefined })));
  }

  private checkRows(): GoalChoice[] {
    const rows = this.checks.all.map((check): GoalChoice => {
      const { command, standing, suggested, state: known, why } = check;
      const out = !this.checks.isTaken(check);
      const tried = this.waiting === 'trying' && standing === null && suggested;
      const state = tried ? `${vscode.l10n.t('being tried…')} · ${why}` : known;
      return {
        label: label(command),
        description: label(out ? vscode.l10n.t('left out · {0}', state) : state),
        iconPath: out ? OPEN : TICKED,
        toggle: () => {
          this.checks.toggle(check);
          this.changed.fire();
        },
      };
    });
    return section(vscode.l10n.t('Checks that prove it'), rows);
  }

  /** Agents that a person could have: choosing one copies how it is installed. */
  private missingRows(): GoalChoice[] {
    return this.agents
      .filter(({ found }) => !found)
      .map(
        ({ name, install }): GoalChoice => ({
          label: name,
          description: vscode.l10n.t('not installed: {0}', install),
          iconPath: OPEN,
          toggle: () => {
            void vscode.env.clipboard.writeText(install);
            say('information', vscode.l10n.t('Copied: {0}', install));
          },
        }),
      );
  }

  private workerRows(): GoalChoice[] {
    const rows = workerItems(this.agents).map(({ worker, label: name, description = '' }): GoalChoice => {
      const chosen = worker === this.worker;
      return {
        label: name,
        description: chosen ? vscode.l10n.t('chosen · {0}', description) : description,
        iconPath: chosen ? TICKED : OPEN,
        toggle: () => {
          this.worker = worker;
          this.changed.fire();
        },
      };
    });
    return section(vscode.l10n.t('Who works on it'), [...rows, ...this.missingRows()]);
  }
}

function section(title: string, rows: readonly GoalChoice[]): GoalChoice[] {
  return rows.length === 0 ? [] : [{ label: title, kind: vscode.QuickPickItemKind.Separator }, ...rows];
}

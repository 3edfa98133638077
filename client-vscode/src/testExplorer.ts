import * as vscode from 'vscode';
import { isOn, onSettings } from './configuration';
import { checkGoal, textOf } from './goalFiles';
import { messageOf } from './plainText';
import type { Location, Requirement, RequirementShown, Snapshot, Test, Tests } from './protocol';
import type { Services } from './services';
import { Throttle } from './throttle';

type TestExplorerServices = Pick<Services, 'request' | 'snapshots' | 'goalFiles' | 'log'>;

const SETTING = 'testExplorer';
/** Snapshots come ten times a second: the Testing view is told as often as it can be read. */
const SETTLE_MS = 250;

type Standing = RequirementShown['standing'] | Test['standing'];

/** Goals in the Testing view, and in the gutter of their files: requirements, and the tests that decide them. */
export function registerTestExplorer(services: TestExplorerServices): vscode.Disposable {
  let explorer: TestExplorer | undefined;
  const update = (): void => {
    const wanted = isOn(SETTING);
    if (wanted !== (explorer !== undefined)) {
      explorer?.dispose();
      explorer = wanted ? new TestExplorer(services) : undefined;
    }
  };
  update();
  return vscode.Disposable.from(onSettings(update, SETTING), { dispose: () => explorer?.dispose() });
}

/** What an item stands for. */
interface Meant {
  readonly goalUri: string;
  readonly requirementId?: string;
}

class TestExplorer implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController('donewhen.goals', vscode.l10n.t('Goals (Done When)'));
  private readonly subscriptions: vscode.Disposable;
  private readonly meant = new WeakMap<vscode.TestItem, Meant>();
  /** What was told of each requirement, by the id of its item. */
  private readonly told = new Map<string, string>();
  /** Requirements whose tests somebody has looked at. */
  private readonly unfolded = new Set<string>();
  /** Goals that a person had checked here: the run that was asked for tells what is found, with what was printed. */
  private readonly checked = new Set<string>();
  private readonly news = new Throttle(() => void this.tell(), SETTLE_MS);
  private telling = Promise.resolve();
  private disposed = false;

  constructor(private readonly services: TestExplorerServices) {
    const { controller } = this;
    controller.createRunProfile(
      vscode.l10n.t('Check Now'),
      vscode.TestRunProfileKind.Run,
      (request, token) => this.run(request, token),
      true,
    );
    controller.resolveHandler = async (item) => {
      if (item !== undefined) {
        this.unfolded.add(item.id);
        await this.tell();
      }
    };
    controller.refreshHandler = () => this.tell();
    const later = (): void => {
      this.news.want();
    };
    this.subscriptions = vscode.Disposable.from(
      controller,
      this.news,
      services.goalFiles.onDidChange(later),
      services.snapshots.onDidChange(later),
    );
    later();
  }

  dispose(): void {
    this.disposed = true;
    this.subscriptions.dispose();
  }

  /** Brings the tree up to date, one time after the other. */
  private tell(): Promise<void> {
    this.telling = this.telling.then(async () => {
      try {
        await this.update();
      } catch (problem) {
        this.services.log.warn(`tests: ${String(problem)}`);
      }
    });
    return this.telling;
  }

  private async update(): Promise<void> {
    const { all } = this.services.goalFiles;
    const isOne = (title: string): boolean => all.filter((file) => file.title === title).length === 1;
    const goals = await Promise.all(
      all.map(({ uri, title }) => this.goalItem(uri, isOne(title) ? title : `${title} (${vscode.workspace.asRelativePath(vscode.Uri.parse(uri))})`)),
    );
    if (this.disposed) {
      return;
    }
    this.controller.items.replace(goals);
    const others = goals.flatMap((goal) => this.changedOf(goal));
    // What was proven before an edit is shown as that: it was so, and may not be any more.
    this.controller.invalidateTestResults(others.filter(({ now }) => now.standing === 'unknown').map(({ item }) => item));
    const changed = others.filter(({ item, now }) => now.standing !== 'unknown' && !this.checked.has(item.parent?.id ?? ''));
    if (changed.length > 0) {
      const run = this.controller.createTestRun(new vscode.TestRunRequest(changed.map(({ item }) => item)), undefined, false);
      for (const { item, one, now } of changed) {
        report(run, item, now.standing, () => failures(one, now, item));
      }
      run.end();
    }
  }

  private async goalItem(uri: string, title: string): Promise<vscode.TestItem> {
    const { controller } = this;
    const file = vscode.Uri.parse(uri);
    const item = controller.items.get(uri) ?? controller.createTestItem(uri, title, file);
    item.label = title;
    this.meant.set(item, { goalUri: uri });
    const snapshot = this.services.snapshots.ofGoal(uri);
    const text = snapshot === undefined ? '' : ((await textOf(file)) ?? '');
    const requirements = snapshot?.requirements.map((one, at) => this.requirement(item, snapshot, one, snapshot.view.requirements[at], text)) ?? [];
    item.children.replace(await Promise.all(requirements));
    return item;
  }

  private async requirement(goal: vscode.TestItem, run: Snapshot, one: Requirement, shown: RequirementShown | undefined, text: string): Promise<vscode.TestItem> {
    const { label = '', standing, status = '' } = shown ?? {};
    const id = `${goal.id}#${one.id}`;
    const item = goal.children.get(id) ?? this.controller.createTestItem(id, label, goal.uri);
    // With the status in words where the item's icon says less. A description would be read out in place of the label.
    item.label = standing === 'unknown' || standing === 'skipped' ? `${label} · ${status}` : label;
    const line = requirementLine(text, one);
    item.range = line === undefined ? undefined : new vscode.Range(line, 0, line, 0);
    item.canResolveChildren = one.evidenceIds.length > 0;
    this.meant.set(item, { goalUri: goal.id, requirementId: one.id });
    if (this.unfolded.has(item.id)) {
      await this.cases(item, run, one);
    }
    return item;
  }

  /** The tests that the requirement's checks ran. */
  private async cases(parent: vscode.TestItem, run: Snapshot, one: Requirement): Promise<void> {
    const version = JSON.stringify([run.runId, one.evidenceIds]);
    if (this.told.get(`${parent.id} tests`) === version) {
      return;
    }
    const { tests } = await this.testsOf(run, one);
    this.told.set(`${parent.id} tests`, version);
    const items = tests.map((test) => {
      const uri = test.uri === null ? undefined : vscode.Uri.parse(test.uri);
      // Their own runners mark the lines of tests: a second mark beside it would say the same.
      const item = this.controller.createTestItem(`${parent.id} ${test.id}`, test.name, uri);
      this.meant.set(item, this.meant.get(parent) ?? { goalUri: '' });
      return { item, test };
    });
    parent.children.replace(items.map(({ item }) => item));
    if (items.length === 0) {
      return;
    }
    const shown = this.controller.createTestRun(new vscode.TestRunRequest(items.map(({ item }) => item)), undefined, false);
    for (const { item, test } of items) {
      report(shown, item, test.standing, () => [message(test.message, item.uri, item.range)]);
    }
    shown.end();
  }

  /** The requirements of a goal that stand otherwise than was told. */
  private changedOf(goal: vscode.TestItem): { item: vscode.TestItem; one: Requirement; now: RequirementShown }[] {
    const run = this.services.snapshots.ofGoal(goal.id);
    return (run?.requirements ?? []).flatMap((one, at) => {
      const item = goal.children.get(`${goal.id}#${one.id}`);
      const now = run?.view.requirements[at];
      const version = JSON.stringify([run?.runId, one.evidenceIds, now]);
      if (item === undefined || now === undefined || this.told.get(item.id) === version) {
        return [];
      }
      this.told.set(item.id, version);
      return [{ item, one, now }];
    });
  }

  private testsOf({ runId }: Snapshot, { id: requirementId }: Requirement): Promise<Tests> {
    return this.services.request('donewhen.run.tests', { runId, requirementId });
  }

  /** Checks the goals that are meant: their checks belong together, and one look at the files decides all of them. */
  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const items = request.include ?? [...this.controller.items].map(([, item]) => item);
    const run = this.controller.createTestRun(request);
    const goals = new Set(items.flatMap((item) => this.meant.get(item)?.goalUri ?? []));
    await Promise.all([...goals].map((goalUri) => this.check(run, goalUri, token)));
    run.end();
  }

  private async check(run: vscode.TestRun, goalUri: string, token: vscode.CancellationToken): Promise<void> {
    const goal = this.controller.items.get(goalUri);
    if (goal === undefined) {
      return;
    }
    goal.children.forEach((item) => {
      run.started(item);
    });
    try {
      this.checked.add(goalUri);
      const snapshot = await checkGoal(this.services, goalUri, token);
      await this.tell();
      for (const [at, one] of snapshot.requirements.entries()) {
        const item = goal.children.get(`${goal.id}#${one.id}`);
        const now = snapshot.view.requirements[at];
        if (item !== undefined && now !== undefined) {
          const { output, milliseconds } = await this.testsOf(snapshot, one);
          if (output !== '') {
            run.appendOutput(output, undefined, item);
          }
          report(run, item, now.standing, () => failures(one, now, item), milliseconds);
          if (now.standing === 'unknown' && one.status === 'unverified') {
            run.errored(item, message(now.why, item.uri, item.range));
          }
        }
      }
    } catch (problem) {
      run.errored(goal, new vscode.TestMessage(messageOf(problem)));
    } finally {
      this.checked.delete(goalUri);
    }
  }
}

function report(run: vscode.TestRun, item: vscode.TestItem, standing: Standing, messages: () => vscode.TestMessage[], milliseconds?: number): void {
  switch (standing) {
    case 'passed':
      run.passed(item, milliseconds);
      break;
    case 'failed':
      run.failed(item, messages(), milliseconds);
      break;
    case 'errored':
      run.errored(item, messages(), milliseconds);
      break;
    case 'queued':
      run.enqueued(item);
      break;
    case 'skipped':
      run.skipped(item);
      break;
    case 'unknown':
      break;
  }
}

/** What failed, and where the evidence says that it did. */
function failures({ locations }: Requirement, { why }: RequirementShown, item: vscode.TestItem): vscode.TestMessage[] {
  const at = ({ message: text, uri, range: { start, end } }: Location): vscode.TestMessage =>
    message(text === '' ? why : text, vscode.Uri.parse(uri), new vscode.Range(start.line, start.character, end.line, end.character));
  return locations.length > 0 ? locations.map(at) : [message(why, item.uri, item.range)];
}

function message(text: string, uri: vscode.Uri | undefined, range: vscode.Range | undefined): vscode.TestMessage {
  const made = new vscode.TestMessage(text);
  if (uri !== undefined && range !== undefined) {
    made.location = new vscode.Location(uri, range);
  }
  return made;
}

/** The line of the goal file that states the requirement, 0-based: by its text, else by its number. */
function requirementLine(text: string, { text: wanted, number }: Requirement): number | undefined {
  const boxes = text.split('\n').flatMap((line, at) => (/^[-*+][ \t]+\[[ xX]\][ \t]/.test(line) ? [{ line, at }] : []));
  return (boxes.find(({ line }) => line.trimEnd().endsWith(wanted)) ?? boxes[number - 1])?.at;
}

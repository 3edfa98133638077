import * as vscode from 'vscode';
import { currentWorker, prepareWorker, workerItems } from './choosing';
import { whileDrafting } from './goalDocument';
import { withChecks, withWorker } from './goalDraft';
import type { CommandResults } from './protocol';
import { Back, inputStep, manyStep, oneStep } from './quickSteps';
import type { Services } from './services';
import { hasFolder } from './targets';

/** What the steps ask for. */
interface Wanted {
  readonly folder: vscode.WorkspaceFolder;
  objective: string;
  offered: readonly string[];
  picked: readonly string[];
  worker: string;
}

/** Asks for the objective, the checks and the worker; then the drafted goal file opens. */
export async function setGoal(services: Services): Promise<void> {
  const folder = await chooseFolder();
  if (folder === undefined) {
    return;
  }
  const wanted: Wanted = { folder, objective: '', offered: [], picked: [], worker: currentWorker() };
  if (await ask(services, wanted)) {
    await draft(services, wanted);
    // The goal is there whatever becomes of the worker: what it needs is asked for again at the start.
    await prepareWorker(services, wanted.worker);
  }
}

async function chooseFolder(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length > 1) {
    return vscode.window.showWorkspaceFolderPick({ placeHolder: vscode.l10n.t('The goal of which folder?') });
  }
  await hasFolder();
  return folders[0];
}

/** The steps, forth and back; false where the person leaves. */
async function ask(services: Services, wanted: Wanted): Promise<boolean> {
  const detected = detect(services, wanted);
  // What goes wrong is told at the step that needs it, which a person may never come to.
  detected.catch(() => undefined);
  const steps = [askObjective, (given: Wanted) => askChecks(given, detected), askWorker];
  for (let step = 0; step < steps.length; ) {
    const went = await steps[step]?.(wanted);
    if (went === undefined) {
      return false;
    }
    step += went === Back ? -1 : 1;
  }
  return true;
}

type Went = 'on' | typeof Back | undefined;

async function askObjective(wanted: Wanted): Promise<Went> {
  const given = await inputStep({
    title: vscode.l10n.t('Set Goal: what should be true when it is done?'),
    step: 1,
    totalSteps: 3,
    value: wanted.objective,
    placeholder: vscode.l10n.t('Export must handle quotes and newlines'),
    validate: (text) => (text.trim() === '' ? vscode.l10n.t('Say what is wanted.') : undefined),
  });
  if (typeof given === 'string') {
    wanted.objective = given;
    return 'on';
  }
  return given;
}

type Detected = CommandResults['donewhen.goal.detect']['checks'][number];

async function detect(services: Services, wanted: Wanted): Promise<readonly Detected[]> {
  const argument = { workspaceUri: wanted.folder.uri.toString() };
  return (await services.client.request('donewhen.goal.detect', argument)).checks;
}

async function askChecks(wanted: Wanted, detected: Promise<readonly Detected[]>): Promise<Went> {
  const step = { title: vscode.l10n.t('Set Goal: which checks prove it?'), step: 2, totalSteps: 3 };
  const items = detected.then((checks) =>
    checks.map((one) => ({ label: one.command, description: one.why, picked: one.suggested })),
  );
  const picked = await manyStep({
    ...step,
    items,
    busy: vscode.l10n.t('Looking for checks in this project…'),
    none: vscode.l10n.t('No check was detected. Press Enter: you can add some to the goal file.'),
  });
  if (picked === undefined || picked === Back) {
    return picked;
  }
  wanted.offered = (await items).map((item) => item.label);
  wanted.picked = picked.map((item) => item.label);
  return 'on';
}

async function askWorker(wanted: Wanted): Promise<Went> {
  const chosen = await oneStep({
    title: vscode.l10n.t('Set Goal: who works on it?'),
    step: 3,
    totalSteps: 3,
    items: workerItems(),
    active: (item) => item.worker === wanted.worker,
  });
  if (chosen === undefined || chosen === Back) {
    return chosen;
  }
  wanted.worker = chosen.worker;
  return 'on';
}

async function draft(services: Services, wanted: Wanted): Promise<void> {
  const argument = { objective: wanted.objective, workspaceUri: wanted.folder.uri.toString() };
  const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Drafting the goal') };
  const { goalUri } = await vscode.window.withProgress(options, () =>
    services.client.request('donewhen.goal.set', argument),
  );
  await whileDrafting(show(goalUri, wanted));
}

async function show(goalUri: string, wanted: Wanted): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(goalUri));
  await vscode.window.showTextDocument(document);
  await settle(document, wanted);
}

/** The draft as the person wants it, saved: a goal is read from the disk. */
async function settle(document: vscode.TextDocument, wanted: Wanted): Promise<void> {
  const before = document.getText();
  const after = withWorker(withChecks(before, wanted.offered, wanted.picked), wanted.worker);
  if (after !== before) {
    const edit = new vscode.WorkspaceEdit();
    const whole = new vscode.Range(document.positionAt(0), document.positionAt(before.length));
    edit.replace(document.uri, whole, after);
    await vscode.workspace.applyEdit(edit);
  }
  await document.save();
}

import * as vscode from 'vscode';
import { currentWorker, prepareWorker } from './choosing';
import { type GoalChoice, NewGoal } from './goalSteps';
import type { KnownGoal } from './knownGoals';
import type { GoalSetArgument } from './protocol';
import { Back, choicesStep, textStep } from './quickSteps';
import type { Services } from './services';
import { hasFolder } from './targets';

/** Asks for the objective, then for what proves it and who works on it; the goal opens, and starts where it can. */
export async function setGoal(services: Services): Promise<void> {
  const folder = await chooseFolder();
  if (folder === undefined) {
    return;
  }
  await drafted(services, new NewGoal(services, folder, currentWorker()), ask);
}

/** Makes a goal of what is known already: only what proves it, and who works on it, is asked. */
export async function setKnownGoal(services: Services, folder: vscode.WorkspaceFolder, known: KnownGoal): Promise<void> {
  await drafted(services, new NewGoal(services, folder, currentWorker(), known), async (goal) => {
    const chosen = await askProof(goal);
    return chosen === Back ? ask(goal) : chosen?.ends;
  });
}

async function drafted(services: Services, goal: NewGoal, asking: (goal: NewGoal) => Promise<GoalChoice['ends']>): Promise<void> {
  try {
    const ends = await asking(goal);
    if (ends !== undefined) {
      const starts = ends === 'start' && goal.starts;
      const { objective, picked, worker, folder } = goal;
      const requirements = goal.requirements.length === 0 ? {} : { requirements: [...goal.requirements] };
      goal.settle();
      const about = { objective, workspaceUri: folder.uri.toString(), checks: picked, worker, ...requirements };
      const { goalUri, editor } = await draftAndShow(services, about);
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

async function chooseFolder(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length > 1) {
    return vscode.window.showWorkspaceFolderPick({ placeHolder: vscode.l10n.t('The goal of which folder?') });
  }
  hasFolder();
  return folders[0];
}

/** The steps, forth and back; undefined where the person leaves. */
async function ask(goal: NewGoal): Promise<GoalChoice['ends']> {
  for (;;) {
    const objective = await askObjective(goal);
    if (objective === undefined || objective === Back) {
      return undefined;
    }
    goal.typed = goal.objectives.items.some((one) => one.text === objective) ? '' : objective;
    goal.objective = objective;
    const chosen = await askProof(goal);
    if (chosen !== Back) {
      return chosen?.ends;
    }
  }
}

function askObjective(goal: NewGoal): Promise<string | typeof Back | undefined> {
  return textStep({
    title: vscode.l10n.t('Set Goal: what should be true when it is done?'),
    step: 1,
    totalSteps: 2,
    value: goal.typed,
    placeholder: vscode.l10n.t('Such as: Export handles quotes and newlines'),
    proposed: goal.objectives,
    typed: vscode.l10n.t('press Enter'),
  });
}

function askProof(goal: NewGoal): Promise<GoalChoice | typeof Back | undefined> {
  return choicesStep<GoalChoice>({
    title: vscode.l10n.t('Set Goal: what proves it, and who works on it?'),
    step: 2,
    totalSteps: 2,
    placeholder: vscode.l10n.t('Press Enter, or change what is below first. Type a command to add a check.'),
    choices: goal.choices,
    adding: (command) => ({ label: vscode.l10n.t('Add the Check `{0}`', command) }),
    add: (command) => {
      goal.add(command);
    },
    ready: goal.detected,
  });
}

/** The goal file, drafted and saved by the server, opens. */
async function draftAndShow(services: Services, about: GoalSetArgument): Promise<{ goalUri: string; editor: vscode.TextEditor }> {
  const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Drafting the goal') };
  const { goalUri } = await vscode.window.withProgress(options, () => services.client.request('donewhen.goal.set', about));
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(goalUri));
  return { goalUri, editor: await vscode.window.showTextDocument(document) };
}

/** Where the draft has a check to be filled in, the commands that are known are offered there. */
async function fillIn(editor: vscode.TextEditor): Promise<void> {
  const { document } = editor;
  const empty = Array.from({ length: document.lineCount }, (_, line) => document.lineAt(line)).find((one) => /^\s+- check:\s*$/.test(one.text));
  if (empty !== undefined) {
    editor.selection = new vscode.Selection(empty.range.end, empty.range.end);
    editor.revealRange(empty.range);
    await vscode.commands.executeCommand('editor.action.triggerSuggest');
  }
}

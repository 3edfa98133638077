import * as vscode from 'vscode';
import { askText } from './asking';
import { say, ask } from './notices';
import { harmless, label } from './plainText';
import type { Choice, CommandArguments } from './protocol';
import { isOpenIn, type Open, openOf } from './questions';
import type { Offer, Services } from './services';
import { pickOne, type Target, trusted } from './targets';

type InterruptServices = Pick<Services, 'request' | 'snapshots'>;

export function isOpen({ snapshots }: InterruptServices, open: Open): boolean {
  return isOpenIn(snapshots.all(), open);
}

/** From the palette: chooses what to answer, then asks how. */
export async function answer(services: InterruptServices, target: Target | undefined): Promise<void> {
  const open = await pickOpen(services, target);
  if (open !== undefined) {
    await showAndAsk(services, open);
  }
}

/** From the view or a button: approve, deny, edit first, or say something else. */
export function answerWith(response: 'approve' | 'deny' | 'edit' | 'text'): (services: InterruptServices, target: Target | undefined) => Promise<void> {
  return async (services, target) => {
    const open = await pickOpen(services, target);
    if (open !== undefined) {
      await (response === 'edit' ? edit(services, open) : response === 'text' ? answerInWords(services, open) : send(services, open, { response }));
    }
  };
}

/** From a choice that stands under the question in the view. */
export async function choose(services: InterruptServices, target: Target | undefined): Promise<void> {
  const open = await pickOpen(services, target);
  if (open !== undefined) {
    const chosen = open.asked.choices[target?.choice ?? -1];
    await (chosen === undefined ? showAndAsk(services, open) : send(services, open, chosen));
  }
}

/** Opens what is asked as a document, and asks with everything that can be answered. */
async function showAndAsk(services: InterruptServices, open: Open): Promise<void> {
  await showAsked(open);
  const chosen = await vscode.window.showQuickPick(allChoices(services, open), {
    title: open.asked.title,
    placeHolder: [open.run.title, ...open.asked.context].map(harmless).join(' · '),
    ignoreFocusOut: true,
  });
  await chosen?.perform();
}

async function showAsked({ run, interrupt }: Open): Promise<void> {
  await vscode.commands.executeCommand('donewhen.openInterrupt', { runId: run.runId, interruptId: interrupt.id });
}

type Item = vscode.QuickPickItem & Offer;

function allChoices(services: InterruptServices, open: Open): Item[] {
  const { asked } = open;
  const items = asked.listed.flatMap((at): Item[] => {
    const choice = asked.choices[at];
    return choice === undefined ? [] : [{ label: choice.label, detail: choice.detail, perform: () => send(services, open, choice) }];
  });
  if (asked.edits !== null) {
    items.splice(-1, 0, { label: vscode.l10n.t('Edit…'), perform: () => edit(services, open) });
  }
  const words = { label: vscode.l10n.t('Answer in Words…'), perform: () => answerInWords(services, open) };
  return asked.open ? [words, ...items] : asked.words ? [...items, words] : items;
}

async function answerInWords(services: InterruptServices, open: Open): Promise<void> {
  const text = await askText({ title: open.asked.title });
  if (text !== undefined) {
    await send(services, open, { response: 'text', text });
  }
}

async function edit(services: InterruptServices, open: Open): Promise<void> {
  const { edits } = open.asked;
  const { input } = open.interrupt;
  if (edits === null) {
    await showAndAsk(services, open);
    return;
  }
  const run = (after: string): Promise<void> => send(services, open, { response: 'edit', input: { ...input, [edits]: after } });
  const before = String(input[edits]);
  await (before.includes('\n') ? editLines(before, run) : editLine(before, run));
}

async function editLine(before: string, run: (after: string) => Promise<void>): Promise<void> {
  const after = await vscode.window.showInputBox({
    title: vscode.l10n.t('What should run instead?'),
    value: before,
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' ? vscode.l10n.t('It can’t be empty. To run nothing, deny it.') : undefined),
  });
  if (after !== undefined) {
    await run(after);
  }
}

/** In an editor: a box would make one line of them. */
async function editLines(before: string, run: (after: string) => Promise<void>): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ content: before, language: 'shellscript' });
  await vscode.window.showTextDocument(document, { preview: false });
  const message = vscode.l10n.t('Edit the command, then run it as it stands in the editor.');
  // Without asking whether to save what was only typed to be run.
  const close = async (): Promise<void> => {
    if (!document.isClosed) {
      await vscode.window.showTextDocument(document);
      await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    }
  };
  const perform = async (): Promise<void> => {
    const after = document.getText();
    await close();
    if (after.trim() !== '') {
      await run(after);
    }
  };
  const closed = new Promise<void>((resolve) => {
    const watching = vscode.workspace.onDidCloseTextDocument((one) => {
      if (one === document) {
        watching.dispose();
        resolve();
      }
    });
  });
  const offers = [{ label: vscode.l10n.t('Run It'), perform }, { label: vscode.l10n.t('Cancel'), perform: close }];
  // In view for as long as the editor is: nothing else runs what stands there.
  void ask(message, offers, () => !document.isClosed, closed);
}

/** Sends an answer, or does what a choice does instead; one that comes too late is said to be so. */
export async function send(services: InterruptServices, open: Open, given: Choice | Omit<CommandArguments['donewhen.run.answer'], 'runId' | 'interruptId'>): Promise<void> {
  const { runId, goalUri } = open.run;
  if (!isOpen(services, open)) {
    say('information', answered());
  } else if ('instead' in given && given.instead !== null) {
    const requirementId = open.interrupt.about.replace(/^requirement:/, '');
    await vscode.commands.executeCommand(`donewhen.${given.instead}`, { runId, goalUri, requirementId });
  } else if (trusted()) {
    const { response, remember, text } = given;
    const words = response === 'text' ? { text } : {};
    const reply = 'instead' in given ? { ...(response && { response }), ...(remember && { remember }), ...words } : given;
    const run = await services.request('donewhen.run.answer', { runId, interruptId: open.interrupt.id, ...reply });
    if (run.status === 'interrupted' || (run.status === 'paused' && run.pausedBy === 'run')) {
      // Whoever answers wants it to go on; a person's pause stays.
      await services.request('donewhen.run.resume', { runId });
    }
  }
}

async function pickOpen(services: InterruptServices, target: Target | undefined): Promise<Open | undefined> {
  const { runId, interruptId } = target ?? {};
  const fits = ({ run, interrupt }: Open): boolean =>
    (runId === undefined || run.runId === runId) && (interruptId === undefined || interrupt.id === interruptId);
  return pickOne(openOf(services.snapshots.all()).filter(fits), {
    none: interruptId === undefined ? vscode.l10n.t('There are no open questions.') : answered(),
    title: vscode.l10n.t('Which question?'),
    item: ({ run, asked }) => ({ label: label(asked.title), description: run.title }),
  });
}

function answered(): string {
  return vscode.l10n.t('This question has already been answered.');
}

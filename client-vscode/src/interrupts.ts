import * as vscode from 'vscode';
import { context, harmless, label, oneLine } from './askedText';
import { editCommand } from './editCommand';
import { type Choice, choicesOf, editable } from './interruptChoices';
import { say } from './notices';
import type { Interrupt, RunAnswerArgument, Snapshot } from './protocol';
import type { Services } from './services';
import { isAsking } from './snapshots';
import type { Target } from './targets';
import { trusted } from './runCommands';

/** An interrupt with the run that it belongs to. */
export interface Open {
  readonly runId: string;
  readonly goalTitle: string;
  readonly interrupt: Interrupt;
}

/** What is open in all runs, the oldest first; an answer counts also while nobody goes on with the run. */
export function openInterrupts(services: Services): Open[] {
  return services.snapshots
    .all()
    .filter(isAsking)
    .flatMap(openIn)
    .sort((one, other) => one.interrupt.askedAt.localeCompare(other.interrupt.askedAt));
}

export function openIn(run: Snapshot): Open[] {
  return run.interrupts.map((interrupt) => ({ runId: run.runId, goalTitle: run.title, interrupt }));
}

export function isOpen(services: Services, open: Open): boolean {
  return openInterrupts(services).some((one) => one.runId === open.runId && one.interrupt.id === open.interrupt.id);
}

/** From the palette: chooses what to answer, then asks how. */
export async function answer(services: Services, target: Target | undefined): Promise<void> {
  const open = await pickOpen(services, target);
  if (open !== undefined) {
    await showAndAsk(services, open);
  }
}

/** From the view or a button: approve, deny, or edit first. */
export async function answerWith(
  services: Services,
  target: Target | undefined,
  response: 'approve' | 'deny' | 'edit',
): Promise<void> {
  const open = await pickOpen(services, target);
  if (open === undefined) {
    return;
  }
  if (response === 'edit') {
    await edit(services, open);
  } else {
    await send(services, open, { response });
  }
}

/** From a choice that stands under the question in the view. */
export async function choose(services: Services, target: (Target & { readonly choice?: string }) | undefined): Promise<void> {
  const open = await pickOpen(services, target);
  if (open !== undefined) {
    const chosen = choicesOf(open.interrupt, vscode.l10n.t).all.find((one) => one.label === target?.choice);
    await (chosen === undefined ? showAndAsk(services, open) : send(services, open, chosen.answer));
  }
}

/** How much of what is asked a picker's title can show. */
const TITLE = 120;

/** Opens what is asked as a document, and asks with everything that can be answered. */
export async function showAndAsk(services: Services, open: Open): Promise<void> {
  await showAsked(open);
  await askAll(services, open);
}

export async function showAsked(open: Open): Promise<void> {
  const target = { runId: open.runId, interruptId: open.interrupt.id };
  await vscode.commands.executeCommand('donewhen.openInterrupt', target);
}

/** All that can be answered, in a picker, which says what stands around the question. */
async function askAll(services: Services, open: Open): Promise<void> {
  const chosen = await vscode.window.showQuickPick(allChoices(services, open), {
    title: oneLine(open.interrupt, TITLE, vscode.l10n.t),
    placeHolder: [open.goalTitle, ...context(open.interrupt, vscode.l10n.t)].map(harmless).join(' · '),
    ignoreFocusOut: true,
  });
  await chosen?.perform();
}

interface Item extends vscode.QuickPickItem {
  perform(): Promise<void>;
}

function allChoices(services: Services, open: Open): Item[] {
  const choices = choicesOf(open.interrupt, vscode.l10n.t);
  const button = (choice: Choice): Item => ({
    label: choice.label,
    ...(choice.detail === undefined ? {} : { detail: choice.detail }),
    perform: () => send(services, open, choice.answer),
  });
  const items = choices.all.map(button);
  if (choices.edits) {
    items.splice(-1, 0, { label: vscode.l10n.t('Edit…'), perform: () => edit(services, open) });
  }
  const words = { label: vscode.l10n.t('Answer in Words…'), perform: () => answerInWords(services, open) };
  if (choices.open) {
    return [words, ...items];
  }
  return choices.text ? [...items, words] : items;
}

export async function answerInWords(services: Services, open: Open): Promise<void> {
  const text = await vscode.window.showInputBox({ title: oneLine(open.interrupt, TITLE, vscode.l10n.t), ignoreFocusOut: true });
  if (text !== undefined) {
    await send(services, open, { response: 'text', text });
  }
}

export async function edit(services: Services, open: Open): Promise<void> {
  const field = editable(open.interrupt);
  if (field === undefined) {
    await showAndAsk(services, open);
    return;
  }
  await editCommand(open.interrupt.input[field] as string, (after) =>
    send(services, open, { response: 'edit', input: { ...open.interrupt.input, [field]: after } }),
  );
}

/** Sends an answer; one that comes too late is said to be so. */
export async function send(
  services: Services,
  open: Open,
  given: Omit<RunAnswerArgument, 'runId' | 'interruptId'> | { readonly command: string },
): Promise<void> {
  if (!isOpen(services, open)) {
    say('information', vscode.l10n.t('This question has already been answered.'));
    return;
  }
  if ('command' in given) {
    const goalUri = services.snapshots.get(open.runId)?.goalUri;
    const requirementId = open.interrupt.about.replace(/^requirement:/, '');
    await vscode.commands.executeCommand(given.command, { runId: open.runId, goalUri, requirementId });
    return;
  }
  if (trusted()) {
    const about = { runId: open.runId, interruptId: open.interrupt.id };
    const run = await services.client.request('donewhen.run.answer', { ...about, ...given });
    if (run.status === 'interrupted') {
      // Whoever answers wants it to go on; a pause is a person's own.
      await services.client.request('donewhen.run.resume', { runId: open.runId });
    }
  }
}

async function pickOpen(services: Services, target: Target | undefined): Promise<Open | undefined> {
  const all = openInterrupts(services).filter((one) => target?.runId === undefined || one.runId === target.runId);
  const named = all.find((one) => one.interrupt.id === target?.interruptId);
  if (named !== undefined || target?.interruptId !== undefined || all.length <= 1) {
    const open = target?.interruptId === undefined ? all[0] : named;
    if (open === undefined) {
      say('information', vscode.l10n.t('There are no open questions.'));
    }
    return open;
  }
  const items = all.map((open) => ({ label: label(oneLine(open.interrupt, TITLE, vscode.l10n.t)), description: open.goalTitle, open }));
  return (await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Which question?') }))?.open;
}

import * as vscode from 'vscode';
import { askText, SOMETHING } from './asking';
import { ownText, setForUser, text } from './configuration';
import { allowed, offeredModels } from './editorModels';
import { label } from './plainText';
import type { CommandResults } from './protocol';
import type { Services } from './services';

type ChoosingServices = Pick<Services, 'context' | 'keys' | 'log'>;

interface WorkerItem extends vscode.QuickPickItem {
  readonly worker: string;
}

/** An agent that a person may have, as the server found it. */
export type FoundAgent = CommandResults['donewhen.goal.detect']['agents'][number];

/** Who can work, the one that needs nothing first; of the known agents, those that are installed. */
export function workerItems(agents: readonly FoundAgent[] = []): WorkerItem[] {
  const installed = agents.filter(({ found }) => found);
  return [
    { worker: 'human', label: vscode.l10n.t('You'), description: vscode.l10n.t('edit and save; the checks run after each change') },
    { worker: 'agent', label: vscode.l10n.t('The built-in agent'), description: vscode.l10n.t('needs a model') },
    ...installed.map(({ worker, name }) => ({ worker, label: name, description: vscode.l10n.t('by its own command line') })),
    { worker: 'command', label: vscode.l10n.t('A command'), description: vscode.l10n.t('such as another agent') },
  ];
}

export async function chooseWorker(services: ChoosingServices): Promise<void> {
  const items = workerItems().map((item) => (item.worker === currentWorker() ? { ...item, picked: true } : item));
  const title = vscode.l10n.t('Who works on goals that don’t name a worker?');
  const chosen = await vscode.window.showQuickPick(items, { title });
  if (chosen !== undefined && (await prepareWorker(services, chosen.worker))) {
    await setForUser('worker', chosen.worker);
  }
}

/** Whoever works where nothing else is said. */
export function currentWorker(): string {
  return text('worker') || (text('model') === '' ? 'human' : 'agent');
}

/** Asks for what the worker needs and does not have yet; false where the person leaves. */
export async function prepareWorker(services: ChoosingServices, worker: string): Promise<boolean> {
  if (worker === 'agent' && text('model') === '') {
    return chooseWorkersModel(services);
  }
  if (worker === 'command' && ownText('workerCommand') === '') {
    const command = await askCommand();
    if (command === undefined) {
      return false;
    }
    await setForUser('workerCommand', command);
  }
  return worker !== 'agent' || allowed(services.context, [text('model')]);
}

/** The editor asks now for leave to use those of its models that the settings name, so that no run stands still for it. */
export async function askForModels({ context }: Pick<Services, 'context'>): Promise<void> {
  await allowed(context, [currentWorker() === 'agent' ? text('model') : '', ...judges(text('judgeModel'))]);
}

/** The models of a panel, written as `A,B` or `3*A`. */
function judges(panel: string): string[] {
  return panel.split(',').map((one) => one.trim().replace(/^\d+\s*\*\s*/, ''));
}

function askCommand(): Promise<string | undefined> {
  return askText({
    title: vscode.l10n.t('The command of the worker'),
    prompt: vscode.l10n.t('{prompt} stands for what is to be done; without it, it is given on standard input.'),
    placeHolder: 'my-agent --prompt {prompt}',
    like: SOMETHING,
    wrong: vscode.l10n.t('A command is needed.'),
  });
}

/** The worker's model, the judge's, and the keys that they need. */
export async function chooseModels(services: ChoosingServices): Promise<boolean> {
  const model = await askModel('model', vscode.l10n.t('The model of the built-in agent (1/2)'));
  if (model === undefined) {
    return false;
  }
  const judge = await askModel('judgeModel', vscode.l10n.t('The model that judges what checks can’t decide (2/2)'));
  return judge !== undefined && keep(services, model, judge);
}

/** Where a model is served: at an address of the person's own, or, where it is empty, at its provider's. */
export async function setAddress(role: 'worker' | 'judge' | null): Promise<boolean> {
  const setting = role === 'judge' ? 'judgeApiBase' : 'apiBase';
  const given = await askText({
    title: role === 'judge' ? vscode.l10n.t('Where the judge’s model is served') : vscode.l10n.t('Where the agent’s model is served'),
    value: ownText(setting),
    placeHolder: 'http://localhost:8000/v1',
    prompt: vscode.l10n.t('Most addresses end in /v1. Leave it empty for the provider’s own.'),
    like: /^(https?:\/\/\S+)?$/u,
    wrong: vscode.l10n.t('http:// or https://, without spaces'),
  });
  if (given !== undefined) {
    await setForUser(setting, given);
  }
  return given !== undefined;
}

/** What a goal for the agent can't do without: a judge is asked for where something needs one. */
async function chooseWorkersModel(services: ChoosingServices): Promise<boolean> {
  const model = await askModel('model', vscode.l10n.t('The model of the built-in agent'));
  return model !== undefined && model !== '' && keep(services, model);
}

interface Models {
  readonly model?: string | undefined;
  readonly judgeModel?: string | undefined;
}

/** Asks for the keys of models; what is served from an address of the person's own rarely needs one. */
export function askKeys({ keys }: Pick<Services, 'keys'>, { model, judgeModel }: Models): Promise<boolean> {
  const called = [ownText('apiBase') === '' ? model : undefined, ownText('judgeApiBase') === '' ? judgeModel : undefined];
  return keys.askMissing(called.filter((one) => one !== undefined));
}

/** Keeps the models once their keys are there; false where the person leaves. */
async function keep(services: ChoosingServices, model: string, judgeModel?: string): Promise<boolean> {
  const allowedHere = await allowed(services.context, [model, ...judges(judgeModel ?? '')]);
  if (!allowedHere || !(await askKeys(services, { model, judgeModel }))) {
    return false;
  }
  await setForUser('model', model);
  if (judgeModel !== undefined) {
    await setForUser('judgeModel', judgeModel);
  }
  services.log.info(`models: ${model || 'none'}, judge ${judgeModel ?? (text('judgeModel') || 'none')}`);
  return true;
}

/** Any model: those that the editor offers are listed, every other one is typed. */
export async function askModel(setting: string, title: string): Promise<string | undefined> {
  const offered = await offeredModels();
  if (offered.length === 0) {
    return typedModel(setting, title);
  }
  const now = text(setting);
  const typed = { label: vscode.l10n.t('Another Model…'), description: vscode.l10n.t('by provider/name, or none'), model: undefined };
  const items = offered.map(({ model, name, vendor }) => ({
    label: label(name),
    description: label(model === now ? vscode.l10n.t('chosen · {0}, in this editor', vendor) : vscode.l10n.t('{0}, in this editor', vendor)),
    model,
  }));
  const chosen = await vscode.window.showQuickPick([...items, typed], { title, ignoreFocusOut: true, matchOnDescription: true });
  return chosen === undefined ? undefined : (chosen.model ?? typedModel(setting, title));
}

function typedModel(setting: string, title: string): Promise<string | undefined> {
  return askText({
    title,
    value: text(setting),
    placeHolder: 'anthropic/claude-sonnet-4-5',
    prompt: vscode.l10n.t('As provider/name. Leave it empty for none.'),
    like: /^(\S+\/\S+)?$/u,
    wrong: vscode.l10n.t('provider/name, without spaces'),
  });
}

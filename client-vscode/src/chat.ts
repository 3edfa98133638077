import * as vscode from 'vscode';
import { checkGoal, findGoals, mustBeTrusted, textOf } from './goalFiles';
import { fenced, messageOf, visible } from './plainText';
import type { CommandArguments, Snapshot } from './protocol';
import type { Services } from './services';

type ChatServices = Pick<Services, 'request' | 'want' | 'snapshots'>;

const MOST_GOALS = 20;

/** Goals in a chat: `@goal`, which answers from what the server knows and asks no model, and tools for models. */
export function registerChat(services: ChatServices): vscode.Disposable {
  const answers = { set, status, why, check };
  const participant = vscode.chat.createChatParticipant('donewhen.goal', async (request, _context, stream, token) => {
    services.want();
    try {
      const answer = Object.entries(answers).find(([name]) => name === request.command)?.[1] ?? status;
      await answer(services, { prompt: request.prompt.trim(), stream, token });
      return {};
    } catch (problem) {
      return { errorDetails: { message: messageOf(problem) } };
    }
  });
  participant.iconPath = new vscode.ThemeIcon('target');
  return vscode.Disposable.from(
    participant,
    vscode.lm.registerTool<Input>('get_goal_status', {
      invoke: async ({ input }) => result(await statusForModel(services, input)),
      prepareInvocation: () => ({ invocationMessage: vscode.l10n.t('Reading the status of the goals') }),
    }),
    vscode.lm.registerTool<Input>('check_goal', {
      invoke: async ({ input }, token) => result(await tell(services, await checkGoal(services, (await namedGoal(input.goal)).toString(), token), 'model')),
      prepareInvocation: ({ input }) => askFirst(input),
    }),
  );
}

async function tell({ request }: ChatServices, { runId }: Snapshot, form: CommandArguments['donewhen.run.tell']['form'], requirement?: number): Promise<string> {
  return (await request('donewhen.run.tell', { runId, form, ...(requirement === undefined ? {} : { requirement }) })).text;
}

// ------------------------------------------------------------------------------------------ for a person

/** What a person said, and where the answer goes. */
interface Asked {
  readonly prompt: string;
  readonly stream: vscode.ChatResponseStream;
  readonly token: vscode.CancellationToken;
}

async function set({ request }: ChatServices, { prompt, stream }: Asked): Promise<void> {
  if (prompt === '') {
    stream.markdown(vscode.l10n.t('Say what should be true when it is done, such as: @goal /set The export handles quotes.'));
    return;
  }
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  if (folder === undefined) {
    throw new Error(vscode.l10n.t('A goal belongs to a folder. Open one first.'));
  }
  stream.progress(vscode.l10n.t('Drafting the goal with the checks of this folder'));
  const about = { objective: prompt, workspaceUri: folder.uri.toString() };
  const { goalUri, notes = [] } = await request('donewhen.goal.set', about);
  stream.markdown(vscode.l10n.t('The goal is drafted. Look at its requirements, then start it.'));
  for (const note of notes) {
    stream.markdown('\n\n');
    stream.markdown(new vscode.MarkdownString().appendText(note));
  }
  stream.anchor(vscode.Uri.parse(goalUri), vscode.workspace.asRelativePath(vscode.Uri.parse(goalUri)));
  stream.button({ command: 'donewhen.start', title: vscode.l10n.t('Start'), arguments: [{ goalUri }] });
}

function status(services: ChatServices, asked: Asked): Promise<void> {
  return answerAll(services, asked, 'status');
}

async function why(services: ChatServices, asked: Asked): Promise<void> {
  const named = /\bR(\d+)\b/i.exec(asked.prompt)?.[1];
  await answerAll(services, asked, 'why', named === undefined ? undefined : Number(named));
}

/** Who asks for it has said so: nobody is asked once more. */
async function check(services: ChatServices, { prompt, stream, token }: Asked): Promise<void> {
  const uri = await namedGoal(prompt === '' ? undefined : prompt);
  stream.progress(vscode.l10n.t('Checking {0}', vscode.workspace.asRelativePath(uri)));
  const run = await checkGoal(services, uri.toString(), token);
  stream.markdown(await tell(services, run, run.complete ? 'status' : 'why'));
}

/** The newest run or check of each goal; where nothing was looked at yet, what can be done is said. */
async function answerAll(services: ChatServices, { stream }: Asked, form: 'status' | 'why', requirement?: number): Promise<void> {
  const { text, next } = await answered(services, form, requirement);
  stream.markdown(text);
  if (next !== undefined) {
    stream.button(next);
  }
}

/** The same answer for whoever has no chat: where each goal stands, what is missing and why. */
export async function goalsText(services: ChatServices): Promise<string> {
  const { text, next } = await answered(services, 'why');
  return next === undefined ? text : `${text} ${vscode.l10n.t('Next: **{0}** in the Command Palette.', next.title)}`;
}

async function answered(services: ChatServices, form: 'status' | 'why', requirement?: number): Promise<{ text: string; next?: vscode.Command }> {
  const files = await findGoals();
  const runs = runsOf(services, files);
  if (runs.length > 0) {
    return { text: (await Promise.all(runs.map((run) => tell(services, run, form, requirement)))).join('\n\n') };
  }
  return files.length === 0
    ? { text: vscode.l10n.t('There is no goal file here yet.'), next: { command: 'donewhen.setGoal', title: vscode.l10n.t('Set Goal') } }
    : { text: vscode.l10n.t('No goal has been checked or started yet.'), next: { command: 'donewhen.checkNow', title: vscode.l10n.t('Check Now') } };
}

// ------------------------------------------------------------------------------------------ for a model

interface Input {
  readonly goal?: string;
}

function result(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}

/** In English, as models are told. */
async function statusForModel(services: ChatServices, { goal }: Input): Promise<string> {
  const files = goal === undefined ? await findGoals() : [await namedGoal(goal)];
  const runs = runsOf(services, files).slice(0, MOST_GOALS);
  if (runs.length > 0) {
    return (await Promise.all(runs.map((run) => tell(services, run, 'model')))).join('\n\n');
  }
  const names = files.slice(0, MOST_GOALS).map((uri) => vscode.workspace.asRelativePath(uri));
  return files.length === 0
    ? 'There is no goal file in this workspace.'
    : `No goal has been checked or started yet. Goal files: ${names.join(', ')}. To check one, use check_goal.`;
}

async function askFirst({ goal }: Input): Promise<vscode.PreparedToolInvocation> {
  mustBeTrusted();
  const uri = await namedGoal(goal);
  const name = vscode.workspace.asRelativePath(uri);
  const wanted = [...((await textOf(uri)) ?? '').matchAll(/^\s*[-*] \[.\] (.+)$/gm)].map(([, item = '']) => item.trim());
  const message = new vscode.MarkdownString().appendText(vscode.l10n.t('It runs the checks that {0} names, with your rights:', name));
  message.appendMarkdown(`\n\n${fenced(visible(wanted.join('\n')))}`);
  return {
    invocationMessage: vscode.l10n.t('Checking {0}', name),
    confirmationMessages: { title: vscode.l10n.t('Check the goal?'), message },
  };
}

// ------------------------------------------------------------------------------------------ goals

function runsOf({ snapshots }: ChatServices, files: readonly vscode.Uri[]): Snapshot[] {
  return files.flatMap((uri) => snapshots.ofGoal(uri.toString()) ?? []);
}

/** The goal file that is meant. Rejects with what to say instead. */
async function namedGoal(goal: string | undefined): Promise<vscode.Uri> {
  const files = await findGoals();
  const found = files.filter((uri) => goal === undefined || vscode.workspace.asRelativePath(uri) === goal || uri.path.endsWith(`/${goal}`));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    const names = files.map((uri) => vscode.workspace.asRelativePath(uri));
    throw new Error(vscode.l10n.t('Name one of the goal files: {0}', names.length === 0 ? vscode.l10n.t('none') : names.join(', ')));
  }
  return only;
}

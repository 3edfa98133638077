import * as vscode from 'vscode';
import { visible } from './askedText';
import { goalsText, goalText } from './chatText';
import { saveGoal } from './goalDocument';
import { fenced } from './goalNodes';
import { markdownText } from './markdownText';
import type { Snapshot } from './protocol';
import type { Services } from './services';
import { GOALS, NOT_GOALS } from './targets';

interface Input {
  readonly goal?: string;
}

/** What a chat may ask: how far goals are, and, with the person's leave, to check one. */
export function registerChatTools(services: Services): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.lm.registerTool<Input>('get_goal_status', {
      invoke: async ({ input }) => said(await status(services, input)),
      prepareInvocation: () => ({ invocationMessage: vscode.l10n.t('Reading the status of the goals') }),
    }),
    vscode.lm.registerTool<Input>('check_goal', {
      invoke: async ({ input }, token) => said(await check(services, input, token)),
      prepareInvocation: ({ input }) => askFirst(input),
    }),
  );
}

function said(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}

async function status({ snapshots }: Services, input: Input): Promise<string> {
  const files = await goalFiles();
  const wanted = input.goal === undefined ? files : [await namedGoal(input.goal)];
  const runs = wanted.map((uri) => snapshots.ofGoal(uri.toString())).filter((run) => run !== undefined);
  return goalsText(runs, wanted.map((uri) => vscode.workspace.asRelativePath(uri)));
}

async function askFirst(input: Input): Promise<vscode.PreparedToolInvocation> {
  mustBeTrusted();
  const uri = await namedGoal(input.goal);
  const name = vscode.workspace.asRelativePath(uri);
  const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  const wanted = [...text.matchAll(/^\s*[-*] \[.\] (.+)$/gm)].map(([, item = '']) => item.trim());
  const asks = vscode.l10n.t('It runs the checks that {0} names, with your rights:', markdownText(name));
  const message = new vscode.MarkdownString(`${asks}\n\n${fenced(visible(wanted.join('\n')))}`);
  return {
    invocationMessage: vscode.l10n.t('Checking {0}', name),
    confirmationMessages: { title: vscode.l10n.t('Check the goal?'), message },
  };
}

async function check(services: Services, input: Input, token: vscode.CancellationToken): Promise<string> {
  return goalText(await checkGoal(services, await namedGoal(input.goal), token));
}

/** Runs the checks of a goal. Rejects where the workspace is not trusted. */
export async function checkGoal({ client }: Services, uri: vscode.Uri, token: vscode.CancellationToken): Promise<Snapshot> {
  mustBeTrusted();
  await saveGoal(uri.toString());
  return client.request('donewhen.goal.check', { goalUri: uri.toString() }, token);
}

function mustBeTrusted(): void {
  if (!vscode.workspace.isTrusted) {
    throw new Error(vscode.l10n.t('The workspace is not trusted, so nothing in it is run.'));
  }
}

/** The goal file that is meant. Rejects with what to say instead. */
export async function namedGoal(goal: string | undefined): Promise<vscode.Uri> {
  const files = await goalFiles();
  const names = files.map((uri) => vscode.workspace.asRelativePath(uri));
  const found = goal === undefined ? files : files.filter((uri, at) => names[at] === goal || uri.path.endsWith(`/${goal}`));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    const list = names.length === 0 ? vscode.l10n.t('none') : names.join(', ');
    throw new Error(vscode.l10n.t('Name one of the goal files: {0}', list));
  }
  return only;
}

export async function goalFiles(): Promise<vscode.Uri[]> {
  const found = await vscode.workspace.findFiles(GOALS, NOT_GOALS, 200);
  return found.sort((one, other) => one.path.localeCompare(other.path));
}

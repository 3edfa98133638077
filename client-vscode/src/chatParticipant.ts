import * as vscode from 'vscode';
import { statusAnswer, whyAnswer } from './chatAnswer';
import { checkGoal, goalFiles, namedGoal } from './chatTools';
import type { Snapshot } from './protocol';
import type { Services } from './services';

type Answer = (services: Services, asked: Asked) => Promise<void>;

/** What a person said, and where the answer goes. */
interface Asked {
  readonly prompt: string;
  readonly stream: vscode.ChatResponseStream;
  readonly token: vscode.CancellationToken;
}

const COMMANDS: Readonly<Record<string, Answer>> = { set, status, why, check };

/** `@goal` in a chat: it answers from what the server knows, and asks no model. */
export function registerChatParticipant(services: Services): vscode.Disposable {
  const participant = vscode.chat.createChatParticipant('donewhen.goal', async (request, _context, stream, token) => {
    services.client.want();
    try {
      await (COMMANDS[request.command ?? ''] ?? status)(services, { prompt: request.prompt.trim(), stream, token });
      return {};
    } catch (problem) {
      return { errorDetails: { message: problem instanceof Error ? problem.message : String(problem) } };
    }
  });
  participant.iconPath = new vscode.ThemeIcon('target');
  return vscode.Disposable.from(participant);
}

async function set({ client }: Services, { prompt, stream }: Asked): Promise<void> {
  if (prompt === '') {
    stream.markdown(vscode.l10n.t('Say what should be true when it is done, such as: @goal /set The export handles quotes.'));
    return;
  }
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  if (folder === undefined) {
    throw new Error(vscode.l10n.t('A goal belongs to a folder. Open one first.'));
  }
  stream.progress(vscode.l10n.t('Drafting the goal with the checks of this folder'));
  const { goalUri } = await client.request('donewhen.goal.set', { objective: prompt, workspaceUri: folder.uri.toString() });
  stream.markdown(vscode.l10n.t('The goal is drafted. Look at its requirements, then start it.'));
  stream.anchor(vscode.Uri.parse(goalUri), vscode.workspace.asRelativePath(vscode.Uri.parse(goalUri)));
  stream.button({ command: 'donewhen.start', title: vscode.l10n.t('Start'), arguments: [{ goalUri }] });
}

async function status(services: Services, { stream }: Asked): Promise<void> {
  const runs = await shown(services, stream);
  if (runs.length > 0) {
    stream.markdown(statusAnswer(runs, vscode.l10n));
  }
}

async function why(services: Services, { prompt, stream }: Asked): Promise<void> {
  const runs = await shown(services, stream);
  if (runs.length > 0) {
    stream.markdown(whyAnswer(runs, prompt, vscode.l10n));
  }
}

/** Who asks for it has said so: nobody is asked once more. */
async function check(services: Services, { prompt, stream, token }: Asked): Promise<void> {
  const uri = await namedGoal(prompt === '' ? undefined : prompt);
  stream.progress(vscode.l10n.t('Checking {0}', vscode.workspace.asRelativePath(uri)));
  const run = await checkGoal(services, uri, token);
  stream.markdown(run.complete ? statusAnswer([run], vscode.l10n) : whyAnswer([run], '', vscode.l10n));
}

/** The newest run or check of each goal; where nothing was looked at yet, what can be done is said. */
async function shown({ snapshots }: Services, stream: vscode.ChatResponseStream): Promise<Snapshot[]> {
  const files = await goalFiles();
  const runs = files.flatMap((uri) => snapshots.ofGoal(uri.toString()) ?? []);
  if (files.length === 0) {
    stream.markdown(vscode.l10n.t('There is no goal file here yet.'));
    stream.button({ command: 'donewhen.setGoal', title: vscode.l10n.t('Set Goal') });
  } else if (runs.length === 0) {
    stream.markdown(vscode.l10n.t('No goal has been checked or started yet.'));
    stream.button({ command: 'donewhen.checkNow', title: vscode.l10n.t('Check Now') });
  }
  return runs;
}

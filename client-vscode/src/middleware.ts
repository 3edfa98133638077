import * as vscode from 'vscode';
import type { ExecuteCommandSignature, Middleware, ProgressToken } from 'vscode-languageclient/node';
import { isOn } from './configuration';
import { OPEN_EVIDENCE } from './documentUris';
import { isUnsaved, saveGoal } from './goalFiles';

export interface MiddlewareSources {
  settings(): Record<string, unknown>;
  /** Tells a person what went wrong with a lens or a code action. */
  tell(problem: unknown): void;
}

/** What lenses, code actions and requests of the server pass through. */
export function middleware(around: MiddlewareSources): Middleware {
  const ofRuns = new Set<ProgressToken>();
  return {
    handleWorkDoneProgress: (token, params, next) => {
      // How far a run is stands in the status bar already, and is not to be seen twice.
      if (params.kind === 'begin' && params.percentage !== undefined) {
        ofRuns.add(token);
      }
      if (!ofRuns.has(token)) {
        next(token, params);
      } else if (params.kind === 'end') {
        ofRuns.delete(token);
      }
    },
    executeCommand: async (command, args: unknown[], next) => {
      try {
        return await execute(command, args, next);
      } catch (problem) {
        around.tell(problem);
        return undefined;
      }
    },
    // The lens above each requirement says the status already: twice only for who wants it.
    provideInlayHints: async (document, range, token, next) =>
      isOn('inlayHints') ? apart((await next(document, range, token)) ?? []) : [],
    workspace: {
      handleApplyEdit: async (params, next) => {
        // The server reads files from the disk: one in which nothing was unsaved has nothing unsaved after its edit.
        const names = Object.keys(params.edit.changes ?? {}).map((uri) => vscode.Uri.parse(uri, true).toString());
        const saved = names.filter((uri) => !isUnsaved(uri));
        const result = await next(params, new vscode.CancellationTokenSource().token);
        await Promise.all(saved.map(saveGoal));
        return result;
      },
      configuration: ({ items }) => items.map(() => around.settings()),
    },
  };
}

/** What VS Code pads a hint with is thinner than a space: it would stick to the text before it. */
function apart(hints: vscode.InlayHint[]): vscode.InlayHint[] {
  for (const hint of hints) {
    hint.label = typeof hint.label === 'string' ? `\u00a0${hint.label}` : hint.label;
  }
  return hints;
}

type Given = Readonly<Record<string, unknown>>;

const isPlain = (given: Given): boolean => Object.keys(given).join() === 'goalUri';
const isUnreasoned = ({ reason }: Given): boolean => reason === undefined;

/** The command of ours that does it in this editor, where the argument leaves to it what a person is asked. */
const OWN: Readonly<Record<string, readonly [own: string, isLeftToIt: (given: Given) => boolean]>> = {
  'donewhen.run.evidence': [OPEN_EVIDENCE, ({ show }) => show === true],
  'donewhen.goal.amend': ['donewhen.addCheck', ({ check }) => check === ''],
  'donewhen.run.answer': ['donewhen.answer', ({ response }) => response === undefined],
  // As from the palette: where another run stands in the way, that is asked about.
  'donewhen.run.start': ['donewhen.start', isPlain],
  'donewhen.goal.check': ['donewhen.checkNow', isPlain],
  'donewhen.run.override': ['donewhen.waive', isUnreasoned],
  'donewhen.run.dispute': ['donewhen.dispute', isUnreasoned],
  'donewhen.run.acceptIntegrity': ['donewhen.finding.accept', ({ reason, findingId }) => reason === undefined && findingId !== undefined],
  'donewhen.run.revert': ['donewhen.finding.revert', ({ findingId }) => findingId !== undefined],
};

async function execute(command: string, args: unknown[], next: ExecuteCommandSignature): Promise<unknown> {
  const given = (args[0] ?? {}) as Given;
  const [own, isLeftToIt] = OWN[command] ?? [];
  if (own !== undefined && isLeftToIt?.(given) === true) {
    return vscode.commands.executeCommand(own, given);
  }
  await saveGoal(given['goalUri']);
  return next(command, args);
}

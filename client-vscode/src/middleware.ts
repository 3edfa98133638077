import * as vscode from 'vscode';
import type {
  ExecuteCommandSignature,
  Middleware,
  ProgressToken,
  WorkDoneProgressBegin,
  WorkDoneProgressEnd,
  WorkDoneProgressReport,
} from 'vscode-languageclient/node';
import type { Surroundings } from './client';
import { isOn } from './configuration';
import { saveGoal } from './goalDocument';

/** The commands that people must give a reason for; lenses and code actions leave it to the client to ask. */
const REASONS: ReadonlySet<string> = new Set([
  'donewhen.run.override',
  'donewhen.run.dispute',
  'donewhen.run.acceptIntegrity',
]);

/** The commands that read the goal file. */
const READING: ReadonlySet<string> = new Set(['donewhen.run.start', 'donewhen.goal.check']);

/** What lenses, code actions and requests of the server pass through. */
export function middleware(around: Pick<Surroundings, 'settings' | 'tell'>): Middleware {
  const ofRuns = new Set<ProgressToken>();
  return {
    handleWorkDoneProgress: (token, params, next) => {
      if (isOfRun(params)) {
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
        await around.tell(problem);
        return undefined;
      }
    },
    // The lens above each requirement says the status already: twice only for who wants it.
    provideInlayHints: async (document, range, token, next) =>
      isOn('inlayHints') ? apart((await next(document, range, token)) ?? []) : [],
    workspace: {
      configuration: async (params) => Promise.all(params.items.map(() => around.settings())),
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

/** How far a run is stands in the status bar already, and is not to be seen twice. */
function isOfRun(params: WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd): boolean {
  return params.kind === 'begin' && params.percentage !== undefined;
}

async function execute(command: string, args: unknown[], next: ExecuteCommandSignature): Promise<unknown> {
  const argument = (args[0] ?? {}) as Record<string, unknown>;
  if (command === 'donewhen.run.evidence' && argument['show'] === true) {
    return vscode.commands.executeCommand('donewhen.openEvidence', argument);
  }
  if (READING.has(command)) {
    await saveGoal(argument['goalUri']);
  }
  if (REASONS.has(command) && argument['reason'] === undefined) {
    const reason = await askReason(command);
    return reason === undefined ? undefined : next(command, [{ ...argument, reason }]);
  }
  return next(command, args) as Promise<unknown>;
}

async function askReason(command: string): Promise<string | undefined> {
  const title = {
    'donewhen.run.override': vscode.l10n.t('Why does it need no proof?'),
    'donewhen.run.dispute': vscode.l10n.t('What should the judge look at again?'),
  }[command];
  return vscode.window.showInputBox({
    title: title ?? vscode.l10n.t('Why is it right?'),
    prompt: vscode.l10n.t('The reason is kept with the run.'),
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' ? vscode.l10n.t('A reason is needed.') : undefined),
  });
}

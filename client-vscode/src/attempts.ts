import * as vscode from 'vscode';
import { attemptUri, openChanges } from './documents';
import { confirm, say } from './notices';
import { label } from './plainText';
import type { Attempt, AttemptGroup, AttemptsCompared } from './protocol';
import type { Services } from './services';
import { pickOne, trusted } from './targets';

type AttemptsServices = Pick<Services, 'request' | 'serverState' | 'onDidStart' | 'log'>;

/**
 * Whether there are attempts to compare. The command line makes them, in a process of its own: so it is asked again when a
 * person comes back to the window, and when a command in a terminal ends.
 */
export function registerAttempts({ request, serverState, onDidStart, log }: AttemptsServices): vscode.Disposable {
  const ask = async (): Promise<void> => {
    try {
      await groupsOf(request);
    } catch (problem) {
      log.debug(`attempts: ${String(problem)}`); // the command itself says what is wrong
    }
  };
  const look = (): void => {
    if (serverState() === 'running') {
      void ask();
    }
  };
  return vscode.Disposable.from(
    onDidStart(look),
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused) {
        look();
      }
    }),
    vscode.window.onDidEndTerminalShellExecution(look),
    vscode.window.onDidCloseTerminal(look),
  );
}

/** The groups of attempts, newest first. The command is offered where there are any. */
async function groupsOf(request: AttemptsServices['request']): Promise<readonly AttemptGroup[]> {
  const { groups } = await request('donewhen.attempts.list', { compare: false });
  await vscode.commands.executeCommand('setContext', 'donewhen.attempts', groups.length > 0);
  return groups;
}

interface Row extends vscode.QuickPickItem {
  readonly attempt: Attempt;
}

type Act = (services: Pick<Services, 'request'>, group: AttemptsCompared, attempt: Attempt) => Promise<boolean>;

/** What can be done with an attempt. Each resolves to whether the comparison is to be shown again. */
const ACTS: readonly { readonly icon: string; readonly name: () => string; readonly perform: Act }[] = [
  { icon: 'diff', name: () => vscode.l10n.t('Show Changes'), perform: showChanges },
  { icon: 'check', name: () => vscode.l10n.t('Apply'), perform: apply },
  { icon: 'trash', name: () => vscode.l10n.t('Drop'), perform: drop },
];

/** A row for each attempt; its buttons, or a choice after Enter, do something with it. */
export async function compareAttempts(services: Pick<Services, 'request'>): Promise<void> {
  const id = await pickGroup(services);
  while (id !== undefined) {
    const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Comparing attempts') };
    const asked = () => services.request('donewhen.attempts.list', { id });
    const { compared } = await vscode.window.withProgress(options, asked);
    if (compared === null) {
      return;
    }
    const chosen = await pickAct(compared);
    if (chosen === undefined || !(await chosen.perform(services, compared, chosen.attempt))) {
      return;
    }
  }
}

/** The only group, or the one that a person picks. */
async function pickGroup({ request }: Pick<Services, 'request'>): Promise<string | undefined> {
  const group = await pickOne(await groupsOf(request), {
    none: vscode.l10n.t('There are no attempts here. “donewhen run --attempts 3” in a terminal makes some.'),
    title: vscode.l10n.t('Which attempts?'),
    item: ({ startedAt, view }) => ({ ...view, label: label(view.label), detail: new Date(startedAt).toLocaleString() }),
  });
  return group?.id;
}

async function pickAct(group: AttemptsCompared): Promise<{ attempt: Attempt; perform: Act } | undefined> {
  const buttons = ACTS.map(({ icon, name }) => ({ iconPath: new vscode.ThemeIcon(icon), tooltip: name() }));
  const pick = vscode.window.createQuickPick<Row>();
  pick.title = vscode.l10n.t('Attempts: {0}', label(group.goal));
  pick.matchOnDescription = true;
  pick.items = group.attempts.map((attempt) => {
    const { label: name, description, detail } = attempt.view;
    return { label: label(name), description: label(description), detail: label(detail), buttons, attempt };
  });
  const chosen = await new Promise<{ attempt: Attempt; act?: number } | undefined>((resolve) => {
    pick.onDidTriggerItemButton(({ item, button }) => {
      resolve({ attempt: item.attempt, act: buttons.indexOf(button as (typeof buttons)[number]) });
    });
    pick.onDidAccept(() => {
      const [row] = pick.selectedItems;
      resolve(row && { attempt: row.attempt });
    });
    pick.onDidHide(() => {
      resolve(undefined);
    });
    pick.show();
  });
  pick.dispose();
  const act = chosen?.act === undefined ? chosen && (await pickByName(chosen.attempt)) : ACTS[chosen.act];
  return chosen && act && { attempt: chosen.attempt, perform: act.perform };
}

/** For keyboards, which don't reach the buttons of a row. */
async function pickByName({ view }: Attempt): Promise<(typeof ACTS)[number] | undefined> {
  const items = ACTS.map((act) => ({ label: act.name(), iconPath: new vscode.ThemeIcon(act.icon), act }));
  return (await vscode.window.showQuickPick(items, { title: view.label }))?.act;
}

/** All that an attempt changed, in one editor: as it began on the left, as it left it on the right. */
async function showChanges({ request }: Pick<Services, 'request'>, { id }: AttemptsCompared, { number, runId, view }: Attempt): Promise<boolean> {
  const { files, title } = await request('donewhen.attempts.changes', { id, number });
  if (files.length === 0) {
    say('information', vscode.l10n.t('This attempt changed no file: {0}', label(view.label)));
    return false;
  }
  const side = (of: 'before' | 'after') => (uri: string) => attemptUri(id, number, runId ?? id, uri, of);
  await openChanges(title, files, side('before'), side('after'));
  return false;
}

async function apply({ request }: Pick<Services, 'request'>, { id }: AttemptsCompared, { number, view }: Attempt): Promise<boolean> {
  const button = vscode.l10n.t('Apply');
  if (!trusted() || (await confirm(view.apply.message, view.apply.detail, [button])) !== button) {
    return false;
  }
  const options = { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t('Applying the attempt, and checking the goal') };
  const { message, check } = await vscode.window.withProgress(options, () => request('donewhen.attempts.apply', { id, number }));
  say(check?.complete === true ? 'information' : 'warning', label(message));
  return false;
}

async function drop({ request }: Pick<Services, 'request'>, { id }: AttemptsCompared, { number, view }: Attempt): Promise<boolean> {
  const button = vscode.l10n.t('Drop');
  if ((await confirm(view.drop.message, view.drop.detail, [button])) !== button) {
    return false;
  }
  const { left } = await request('donewhen.attempts.drop', { id, number });
  await groupsOf(request);
  return left > 0;
}

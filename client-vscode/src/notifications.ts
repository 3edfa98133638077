import * as vscode from 'vscode';
import { asksByDialog } from './consent';
import { answerInWords, send, showAndAsk, showAsked } from './interrupts';
import { type Does, Endings, IN_VIEW, type Notice, noticesOf, Turns } from './noticeList';
import { ask as askIt, registerQuestions, said } from './notices';
import type { Offer, Services } from './services';

type NotificationServices = Pick<Services, 'request' | 'onDidStart' | 'snapshots'>;

/** Tells a person what waits for them: one question at a time, and one piece of news beside it. */
export function registerNotifications(services: NotificationServices): vscode.Disposable {
  const endings = new Endings();
  const turns = new Turns();
  const next = (): void => {
    endings.note(services.snapshots.all());
    for (const notice of turns.next(notices(services, endings))) {
      const done = notice.asks === true ? ask(services, notice) : tell(services, notice, turns);
      void done.finally(() => {
        turns.over(notice);
        next();
      });
    }
  };
  next();
  return vscode.Disposable.from(
    registerQuestions(),
    services.snapshots.onDidChange(next),
    services.onDidStart(next),
    vscode.workspace.onDidGrantWorkspaceTrust(next),
  );
}

function notices({ snapshots }: NotificationServices, endings: Endings): Notice[] {
  const several = (vscode.workspace.workspaceFolders ?? []).length > 1;
  return vscode.workspace.isTrusted ? noticesOf(snapshots.all(), { several, asksByDialog, endings, t: vscode.l10n.t }) : [];
}

function offersOf(services: NotificationServices, { buttons }: Notice): Offer[] {
  return buttons.map(({ label, does }) => ({ label, perform: () => perform(services, does) }));
}

function perform(services: NotificationServices, does: Does): Thenable<unknown> {
  switch (does.kind) {
    case 'choose':
      return send(services, does.open, does.choice);
    case 'words':
      return answerInWords(services, does.open);
    case 'more':
      return showAndAsk(services, does.open);
    case 'show':
      return showAsked(does.open);
    case 'command':
      return vscode.commands.executeCommand(does.id, { runId: does.run.runId, goalUri: does.run.goalUri });
  }
}

/** Asks until it is over. */
async function ask(services: NotificationServices, notice: Notice): Promise<void> {
  const { snapshots } = services;
  const holds = (): boolean => notice.holds(snapshots.all());
  const end = endOf(snapshots, holds);
  try {
    await askIt(notice.message, offersOf(services, notice), holds, end.reached);
  } finally {
    end.dispose();
  }
}

/** Resolves once it was closed, or is over; a button that is pressed later still counts. */
async function tell(services: NotificationServices, notice: Notice, turns: Turns): Promise<void> {
  const since = Date.now();
  const stays = (): boolean => notice.holds(services.snapshots.all()) && !turns.givesWay(Date.now() - since);
  const state = { shown: false, left: false };
  const holds = (): boolean => {
    state.shown = !state.left && stays();
    return state.shown;
  };
  const end = endOf(services.snapshots, stays);
  let done: Promise<void> = Promise.resolve();
  const closed = new Promise<'closed'>((resolve) => {
    const told = { buttons: offersOf(services, notice), holds, closed: () => { resolve('closed'); } };
    done = said(notice.kind ?? 'information', notice.message, told);
  });
  try {
    if ((await Promise.race([closed, end.reached])) === 'closed') {
      await Promise.race([done, end.reached]);
      return;
    }
    state.left = true;
    if (state.shown && !turns.asking) {
      // This hides all that are in view, and keeps them in the list: nothing that is asked may hide with them.
      await vscode.commands.executeCommand('notifications.hideToasts');
    }
  } finally {
    end.dispose();
  }
}

/** When it no longer holds; looked for until it is disposed of. */
function endOf(snapshots: Services['snapshots'], holds: () => boolean): { readonly reached: Promise<'over'>; dispose(): void } {
  let stop = (): void => undefined;
  const reached = new Promise<'over'>((resolve) => {
    const look = (): void => {
      if (!holds()) {
        resolve('over');
      }
    };
    const later = setTimeout(look, IN_VIEW);
    const watching = snapshots.onDidChange(look);
    stop = () => {
      clearTimeout(later);
      watching.dispose();
    };
    look();
  });
  return { reached, dispose: () => { stop(); } };
}

import * as vscode from 'vscode';
import { asksByDialog } from './consent';
import { Endings, IN_VIEW, noticesOf, Turns } from './noticeList';
import { ask as askIt, registerQuestions, said } from './notices';
import type { Notice } from './protocol';
import type { Offer, Services } from './services';

type NotificationServices = Pick<Services, 'onDidStart' | 'snapshots'>;

/** Tells a person what waits for them: one question at a time, and one piece of news beside it. */
export function registerNotifications({ snapshots, onDidStart }: NotificationServices): vscode.Disposable {
  const endings = new Endings();
  const turns = new Turns();
  const notices = (): Notice[] => {
    const several = (vscode.workspace.workspaceFolders ?? []).length > 1;
    return vscode.workspace.isTrusted ? noticesOf(snapshots.all(), { several, asksByDialog, endings }) : [];
  };
  const next = (): void => {
    endings.note(snapshots.all());
    for (const notice of turns.next(notices())) {
      const holds = (): boolean => notices().some(({ key }) => key === notice.key);
      const done = notice.kind === 'question' ? ask(snapshots, notice, holds) : tell(snapshots, notice, holds, turns);
      void done.finally(() => {
        turns.over(notice);
        next();
      });
    }
  };
  next();
  return vscode.Disposable.from(
    registerQuestions(),
    snapshots.onDidChange(next),
    onDidStart(next),
    vscode.workspace.onDidGrantWorkspaceTrust(next),
  );
}

function offersOf({ buttons }: Notice): Offer[] {
  return buttons.map(({ label, command, about }) => ({ label, perform: () => vscode.commands.executeCommand(`donewhen.${command}`, about) }));
}

/** Asks until it is over. */
async function ask(snapshots: Services['snapshots'], notice: Notice, holds: () => boolean): Promise<void> {
  const end = endOf(snapshots, holds);
  try {
    await askIt(notice.message, offersOf(notice), holds, end.reached);
  } finally {
    end.dispose();
  }
}

/** Resolves once it was closed, or is over; a button that is pressed later still counts. */
async function tell(snapshots: Services['snapshots'], notice: Notice, stillSo: () => boolean, turns: Turns): Promise<void> {
  const since = Date.now();
  const stays = (): boolean => stillSo() && !turns.givesWay(Date.now() - since);
  const state = { shown: false, left: false };
  const holds = (): boolean => {
    state.shown = !state.left && stays();
    return state.shown;
  };
  const end = endOf(snapshots, stays);
  let done: Promise<void> = Promise.resolve();
  const closed = new Promise<'closed'>((resolve) => {
    const kind = notice.kind === 'warning' ? 'warning' : 'information';
    done = said(kind, notice.message, { buttons: offersOf(notice), holds, closed: () => { resolve('closed'); } });
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

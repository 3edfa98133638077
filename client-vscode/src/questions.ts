import * as vscode from 'vscode';
import { withoutLinks, withoutOpenBracket } from './messageText';
import { noticeTurn, type Offer } from './notices';
import { told } from './told';

/** A command of ours alone: what a link in a question does. */
const PRESS = 'donewhen.press';

/** The editor cuts a notification's text after 1,000 characters, and the links stand at its end. */
const LONGEST = 700;

const shown = new Map<number, readonly Offer[]>();
let last = 0;

/** Lets the links of questions work. */
export function registerQuestions(): vscode.Disposable {
  return vscode.commands.registerCommand(PRESS, (question: number, offer: number) =>
    told(Promise.resolve(shown.get(question)?.[offer]?.perform())),
  );
}

/**
 * A question as a notification that stays in view, and that is gone, from the list of notifications as well, once it is
 * `over` or the person puts it off. The editor takes back no notification but one of progress, which has no buttons: so
 * what can be answered are links in its text.
 */
export async function ask(message: string, offers: readonly Offer[], holds: () => boolean, over: Promise<unknown>): Promise<void> {
  await noticeTurn();
  if (!holds()) {
    return;
  }
  const question = ++last;
  shown.set(question, offers);
  const text = withoutOpenBracket(withoutLinks(message).slice(0, LONGEST));
  const links = offers.map(({ label }, offer) => {
    const given = encodeURIComponent(JSON.stringify([question, offer]));
    return `[${label}](command:${PRESS}?${given} "${label}")`;
  });
  const location = vscode.ProgressLocation.Notification;
  // The editor writes this on the button; one that takes no words here would write "Cancel", which is as true.
  const cancellable = vscode.l10n.t('Later') as unknown as boolean;
  try {
    await vscode.window.withProgress({ location, cancellable }, (progress, token) => {
      // Without a share that is done the bar would run as if something went on.
      progress.report({ message: `${text} \u2003${links.join(' \u00a0·\u00a0 ')}`, increment: 0 });
      return Promise.race([over, putOff(token)]);
    });
  } finally {
    shown.delete(question);
  }
}

function putOff(token: vscode.CancellationToken): Promise<void> {
  return new Promise((resolve) => {
    token.onCancellationRequested(() => {
      resolve();
    });
  });
}

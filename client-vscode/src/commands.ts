import * as vscode from 'vscode';
import { showActions } from './actions';
import { addCheck, chooseJudge } from './amending';
import { chooseModels, chooseWorker } from './choosing';
import { commit, copyReceipt, ofCompleteRun, reviewChanges } from './finishing';
import { fixThis, type Fixable, registerFixThis } from './fixThis';
import { answer, answerWith, choose } from './interrupts';
import { checkNow, dispute, guard, liftGuard, pause, report, resume, revertToIteration, start, stop, unwaive, waive } from './runCommands';
import type { Secrets } from './secrets';
import type { Services } from './services';
import { needsModelSupport } from './snapshots';
import { setGoal } from './setGoal';
import type { Target } from './targets';
import type { Trouble } from './trouble';

type Perform = (services: Services, target: Target | undefined) => Promise<void>;

const COMMANDS: Readonly<Record<string, Perform>> = {
  'donewhen.setGoal': setGoal,
  'donewhen.start': start,
  'donewhen.checkNow': checkNow,
  'donewhen.pause': pause,
  'donewhen.resume': resume,
  'donewhen.stop': stop,
  'donewhen.guard': guard,
  'donewhen.liftGuard': liftGuard,
  'donewhen.addCheck': addCheck,
  'donewhen.chooseJudge': chooseJudge,
  'donewhen.answer': answer,
  'donewhen.interrupt.approve': (services, target) => answerWith(services, target, 'approve'),
  'donewhen.interrupt.deny': (services, target) => answerWith(services, target, 'deny'),
  'donewhen.interrupt.edit': (services, target) => answerWith(services, target, 'edit'),
  'donewhen.interrupt.answer': answer,
  'donewhen.interrupt.choose': choose,
  'donewhen.reviewChanges': ofCompleteRun(reviewChanges),
  'donewhen.commit': ofCompleteRun(commit),
  'donewhen.copyReceipt': ofCompleteRun(copyReceipt),
  'donewhen.report': report,
  'donewhen.revertToIteration': revertToIteration,
  'donewhen.waive': waive,
  'donewhen.unwaive': unwaive,
  'donewhen.dispute': dispute,
  'donewhen.chooseWorker': chooseWorker,
  'donewhen.chooseModels': chooseModels,
  'donewhen.showActions': showActions,
};

/** All commands of the palette and the menus but those of the views. */
export function registerCommands(
  services: Services,
  secrets: Secrets,
  trouble: Trouble,
): vscode.Disposable {
  const { registerCommand } = vscode.commands;
  const listed = Object.entries(COMMANDS).map(([id, perform]) =>
    registerCommand(id, (target: Target | undefined) => {
      services.client.want();
      return told(trouble, () => perform(services, target));
    }),
  );
  return vscode.Disposable.from(
    ...listed,
    registerFixThis(),
    registerCommand('donewhen.fixThis', (what: Fixable) => {
      services.client.want();
      return told(trouble, () => fixThis(services, what));
    }),
    registerCommand('donewhen.installModels', (target: Target | undefined) => told(trouble, () => installModels(services, trouble, target))),
    registerCommand('donewhen.setApiKey', () => told(trouble, () => secrets.ask(services.client))),
    registerCommand('donewhen.restartServer', () => trouble.restart()),
    registerCommand('donewhen.showLogs', () => {
      services.log.show();
    }),
  );
}

/** A run that stood for want of it goes on. */
async function installModels(services: Services, trouble: Trouble, target: Target | undefined): Promise<void> {
  await trouble.installModels();
  const stands = services.snapshots.all().find((run) => needsModelSupport(run) && (target?.runId ?? run.runId) === run.runId);
  if (stands !== undefined) {
    await services.client.request('donewhen.run.resume', { runId: stands.runId });
  }
}

/** A command never throws at the editor: what goes wrong is said in a sentence. */
async function told(trouble: Trouble, perform: () => Promise<void>): Promise<void> {
  try {
    await perform();
  } catch (problem) {
    trouble.tell(problem, perform);
  }
}

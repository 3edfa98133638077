import * as vscode from 'vscode';
import { askKeys, askModel } from './choosing';
import { setForUser } from './configuration';
import { saveGoal } from './goalFiles';
import { label } from './plainText';
import { editButton, type Proposed, textStep } from './quickSteps';
import type { Services } from './services';
import { goalUri, type Target } from './targets';

type AmendingServices = Pick<Services, 'request' | 'keys' | 'log'>;

/** Adds a check to the goal, below the requirement that is meant; a run takes it up. */
export async function addCheck(services: AmendingServices, target: Target | undefined): Promise<void> {
  const uri = await goalUri(target);
  const check = uri === undefined ? undefined : await askCheck(services, uri);
  if (uri !== undefined && check !== undefined) {
    const requirementId = target?.requirementId;
    await amend(services, { goalUri: uri, check, ...(requirementId === undefined ? {} : { requirementId }) });
  }
}

/** Names the judge in the goal, which a run without one takes up, and in the settings for other goals. */
export async function chooseJudge(services: AmendingServices, target: Target | undefined): Promise<void> {
  const uri = await goalUri(target);
  if (uri === undefined) {
    return;
  }
  const judgeModel = await askModel('judgeModel', vscode.l10n.t('The model that judges what checks can’t decide'));
  if (judgeModel === undefined || judgeModel === '') {
    return;
  }
  if (await askKeys(services, { judgeModel })) {
    await amend(services, { goalUri: uri, judgeModel });
    await setForUser('judgeModel', judgeModel);
  }
}

async function amend(services: AmendingServices, about: { goalUri: string; requirementId?: string; check?: string; judgeModel?: string }): Promise<void> {
  await vscode.window.showTextDocument(vscode.Uri.parse(about.goalUri));
  await services.request('donewhen.goal.amend', about);
  await saveGoal(about.goalUri);
}

/** The checks of the goal's folder are proposed as soon as they are known. */
async function askCheck({ request, log }: AmendingServices, uri: string): Promise<string | undefined> {
  const changed = new vscode.EventEmitter<void>();
  let found: readonly Proposed[] | undefined;
  const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri));
  const look = async (): Promise<void> => {
    try {
      const { checks } = await request('donewhen.goal.detect', folder === undefined ? {} : { workspaceUri: folder.uri.toString() });
      found = checks.map((check) => ({
        label: label(check.command),
        description: label(check.state),
        iconPath: new vscode.ThemeIcon('beaker'),
        text: check.command,
        buttons: [editButton()],
      }));
    } catch (problem) {
      log.warn(`no checks are proposed: ${String(problem)}`);
      found = [];
    }
    changed.fire();
  };
  void look();
  const asked = await textStep({
    title: vscode.l10n.t('Add a check: which command passes once it is done?'),
    step: 1,
    totalSteps: 1,
    placeholder: 'python -m pytest -q tests/test_export.py',
    list: { items: () => found ?? [], busy: () => found === undefined, onDidChange: changed.event },
  });
  changed.dispose();
  return typeof asked === 'string' ? asked : undefined;
}

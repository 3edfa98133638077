import * as vscode from 'vscode';
import { isOn, onSettings } from './configuration';
import { fileUri } from './documents';
import type { Snapshot } from './protocol';
import type { Services } from './services';

type ChangeMarksServices = Pick<Services, 'request' | 'snapshots' | 'log'>;

const SETTING = 'markChanges';

/** Marks beside the lines that differ from what they were when the run began; a click shows what stood there. */
export function registerChangeMarks(services: ChangeMarksServices): vscode.Disposable {
  const marks = new ChangeMarks(services);
  return vscode.Disposable.from(
    marks,
    services.snapshots.onDidChange(() => {
      marks.update();
    }),
    onSettings(() => {
      marks.update();
    }, SETTING),
  );
}

/** One source control for each folder in which a run went on in this window: it has nothing but the files from before. */
class ChangeMarks implements vscode.Disposable {
  private readonly shown = new Map<string, { runId: string; control: vscode.SourceControl }>();

  constructor(private readonly services: ChangeMarksServices) {}

  update(): void {
    if (!isOn(SETTING)) {
      this.dispose();
      return;
    }
    // The files from before are kept once the first iteration has begun.
    for (const run of this.services.snapshots.all().filter((one) => one.view.active && one.iteration > 0)) {
      const folder = run.goalUri === null ? undefined : vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(run.goalUri));
      if (folder !== undefined && this.shown.get(folder.uri.toString())?.runId !== run.runId) {
        this.show(folder, run);
      }
    }
  }

  dispose(): void {
    for (const { control } of this.shown.values()) {
      control.dispose();
    }
    this.shown.clear();
  }

  private show(folder: vscode.WorkspaceFolder, { runId }: Snapshot): void {
    const key = folder.uri.toString();
    this.shown.get(key)?.control.dispose();
    const control = vscode.scm.createSourceControl('donewhen', vscode.l10n.t('Since the run began'), folder.uri);
    control.inputBox.visible = false;
    control.quickDiffProvider = {
      provideOriginalResource: (uri) => this.before(runId, folder, uri),
    };
    this.shown.set(key, { runId, control });
  }

  /** The file as it was when the run began; none for what was not there or is not kept, such as ignored files. */
  private async before(runId: string, folder: vscode.WorkspaceFolder, file: vscode.Uri): Promise<vscode.Uri | undefined> {
    if (file.scheme !== 'file' || vscode.workspace.getWorkspaceFolder(file)?.uri.toString() !== folder.uri.toString()) {
      return undefined;
    }
    const uri = file.toString();
    try {
      const { text } = await this.services.request('donewhen.run.file', { runId, iteration: 0, uri });
      return text === null ? undefined : fileUri(runId, 0, uri);
    } catch (problem) {
      this.services.log.debug(`no marks in ${file.fsPath}: ${String(problem)}`);
      return undefined;
    }
  }
}

import * as path from 'node:path';
import * as vscode from 'vscode';
import { isOn, onSettings } from './configuration';

const SETTING = 'addToPath';

/** The folder with nothing but the program `donewhen`, so that no Python comes along to a terminal. */
export function terminalFolder(context: vscode.ExtensionContext): string {
  return path.join(context.globalStorageUri.fsPath, 'terminal');
}

/** After all that is on the PATH: a `donewhen` of the person's own is the one that they mean. */
export function registerTerminal(context: vscode.ExtensionContext): vscode.Disposable {
  const variables = context.environmentVariableCollection;
  variables.description = vscode.l10n.t('Adds the `donewhen` command');
  const update = (): void => {
    const added = path.delimiter + terminalFolder(context);
    const present = variables.get('PATH')?.value;
    // Open terminals are said to be out of date whenever something is set, even to what it was.
    if (!isOn(SETTING)) {
      variables.clear();
    } else if (present !== added) {
      variables.append('PATH', added);
    }
  };
  update();
  return onSettings(update, SETTING);
}

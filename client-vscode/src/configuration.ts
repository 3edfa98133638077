import * as vscode from 'vscode';
import type { ProgramSettings } from './serverCommand';

const SECTION = 'donewhen';

/**
 * The settings that somebody made, by name: what they say nothing about, the server knows better. What a file of the
 * workspace says is in `workspace`: the server, and the scopes in the manifest, leave out what only a person may say.
 */
export function configured(): Readonly<Record<string, unknown>> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const names = Object.keys(vscode.workspace.getConfiguration().get<object>(SECTION) ?? {});
  const said = names.map((name) => ({ name, ...settings.inspect(name) }));
  const own = said.map(({ name, globalValue }) => [name, globalValue] as const);
  const workspace = said.map(({ name, workspaceValue, workspaceFolderValue }) => [name, workspaceFolderValue ?? workspaceValue] as const);
  return { ...Object.fromEntries(own), workspace: Object.fromEntries(workspace.filter(([, value]) => value !== undefined)) };
}

export function text(name: string): string {
  return textOf(vscode.workspace.getConfiguration(SECTION).get<unknown>(name));
}

export function isOn(name: string): boolean {
  return vscode.workspace.getConfiguration(SECTION).get<unknown>(name) === true;
}

/** What the person says: no file of a workspace, whatever it is trusted with, can say anything else. */
export function ownText(name: string): string {
  const said = vscode.workspace.getConfiguration(SECTION).inspect(name);
  return textOf(said?.globalValue ?? said?.defaultValue);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

export function programSettings(): ProgramSettings {
  return { serverPath: ownText('serverPath'), interpreter: ownText('interpreter') };
}

/** Told of each change of our settings, or of the one that is named. */
export function onSettings(changed: () => void, name?: string): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration(name === undefined ? SECTION : `${SECTION}.${name}`)) {
      changed();
    }
  });
}

export async function setForUser(name: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration(SECTION).update(name, value, vscode.ConfigurationTarget.Global);
}

import * as vscode from 'vscode';
import type { ProgramSettings } from './serverCommand';

const SECTION = 'donewhen';

/** The settings that a person made, by name: what they say nothing about, the server knows better. */
export function configured(): Readonly<Record<string, unknown>> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const names = Object.keys(vscode.workspace.getConfiguration().get<object>(SECTION) ?? {});
  return Object.fromEntries(names.filter((name) => isSet(settings, name)).map((name) => [name, settings.get(name)]));
}

function isSet(settings: vscode.WorkspaceConfiguration, name: string): boolean {
  const found = settings.inspect(name);
  const values = [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue];
  return values.some((value) => value !== undefined);
}

export function text(name: string): string {
  const value = vscode.workspace.getConfiguration(SECTION).get<unknown>(name);
  return typeof value === 'string' ? value.trim() : '';
}

export function programSettings(): ProgramSettings {
  return { serverPath: text('serverPath'), interpreter: text('interpreter') };
}

export function affects(change: vscode.ConfigurationChangeEvent): boolean {
  return change.affectsConfiguration(SECTION);
}

export async function setForUser(name: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration(SECTION).update(name, value, vscode.ConfigurationTarget.Global);
}

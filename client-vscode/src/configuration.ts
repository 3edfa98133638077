import * as vscode from 'vscode';
import type { ProgramSettings } from './serverCommand';

const SECTION = 'donewhen';

/** The settings of this extension, by name. */
export function configured(): Readonly<Record<string, unknown>> {
  return vscode.workspace.getConfiguration().get<Record<string, unknown>>(SECTION) ?? {};
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

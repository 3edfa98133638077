import * as vscode from 'vscode';
import { harmless } from './askedText';
import { say } from './notices';

/** A command never throws at the editor: what goes wrong is said in a sentence, in which words of others stay words. */
export async function told(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (problem) {
    if (!(problem instanceof vscode.CancellationError)) {
      say('error', harmless(problem instanceof Error ? problem.message : String(problem)));
    }
  }
}

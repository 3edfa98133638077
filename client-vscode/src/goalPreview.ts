import * as vscode from 'vscode';
import { type Goals, type MarkdownIt, withGoals } from './goalMarkdown';
import { isGoalFile } from './goalFiles';
import { sentence } from './plainText';
import type { Requirement, Snapshot } from './protocol';
import type { Services } from './services';

/** What this extension gives to the Markdown preview. */
export interface PreviewPlugin {
  extendMarkdownIt(markdown: MarkdownIt): MarkdownIt;
}

/** Goals in the Markdown preview look as they do in the editor, and go along with a run. */
export function goalPreview({ snapshots, context }: Pick<Services, 'snapshots' | 'context'>): PreviewPlugin {
  const requirements = (document: unknown): readonly Requirement[] =>
    (isUri(document) ? snapshots.ofGoal(document.toString())?.requirements : undefined) ?? [];
  const goals: Goals = {
    isGoal: (document) => isUri(document) && isGoalFile(document),
    standing: (document, text) => {
      const found = requirements(document).find((one) => spaced(one.text) === spaced(text));
      return found === undefined ? undefined : { status: found.status, said: sentence(found.status) };
    },
    open: vscode.l10n.t('not ticked'),
    ticked: vscode.l10n.t('ticked'),
  };
  let shown = '';
  const refreshing = snapshots.onDidChange(() => {
    if (!isOpen()) {
      return;
    }
    const now = standings(snapshots.all());
    if (now !== shown) {
      shown = now;
      void vscode.commands.executeCommand('markdown.preview.refresh');
    }
  });
  context.subscriptions.push(refreshing);
  return { extendMarkdownIt: (markdown) => withGoals(markdown, goals) };
}

/** The preview's own extension made it: so it need not be of the class that this one knows. */
function isUri(document: unknown): document is vscode.Uri {
  return typeof document === 'object' && document !== null && 'path' in document && typeof document.path === 'string';
}

/** Whether there is a preview: by themselves, previews draw a document anew only when it is edited. */
function isOpen(): boolean {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.some(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.includes('markdown.preview'));
}

function standings(all: readonly Snapshot[]): string {
  return all.map((one) => [one.runId, ...one.requirements.map((each) => each.status)].join(' ')).join('\n');
}

function spaced(text: string): string {
  return text.trim().replace(/\s+/gu, ' ');
}

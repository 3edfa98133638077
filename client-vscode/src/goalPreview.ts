import * as vscode from 'vscode';
import { type Goals, type MarkdownIt, withGoals } from './goalMarkdown';
import { requirementStatus } from './phrases';
import type { Requirement, Snapshot } from './protocol';
import type { Services } from './services';

/** What this extension gives to the Markdown preview. */
export interface PreviewPlugin {
  extendMarkdownIt(markdown: MarkdownIt): MarkdownIt;
}

/** Goals in the Markdown preview look as they do in the editor, and go along with a run. */
export function goalPreview({ snapshots, context }: Services): PreviewPlugin {
  const requirements = (document: unknown): readonly Requirement[] =>
    (isUri(document) ? snapshots.ofGoal(document.toString())?.requirements : undefined) ?? [];
  const goals: Goals = {
    isGoal: (document) => isUri(document) && /(?:^|\/)(?:GOAL\.md|[^/]*\.goal\.md)$/u.test(document.path),
    standing: (document, text) => {
      const found = requirements(document).find((one) => spaced(one.text) === spaced(text));
      return found === undefined ? undefined : { status: found.status, said: capital(requirementStatus(found.status, vscode.l10n)) };
    },
    open: vscode.l10n.t('not ticked'),
    ticked: vscode.l10n.t('ticked'),
  };
  let shown = standings(snapshots.all());
  const refreshing = snapshots.onDidChange(() => {
    const now = standings(snapshots.all());
    if (now !== shown) {
      shown = now;
      refresh();
    }
  });
  context.subscriptions.push(vscode.Disposable.from(refreshing));
  return { extendMarkdownIt: (markdown) => withGoals(markdown, goals) };
}

/** The preview's own extension made it: so it need not be of the class that this one knows. */
function isUri(document: unknown): document is vscode.Uri {
  return typeof document === 'object' && document !== null && 'path' in document && typeof document.path === 'string';
}

/** Previews draw a document anew by themselves only when it is edited. */
function refresh(): void {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  if (tabs.some(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.includes('markdown.preview'))) {
    void vscode.commands.executeCommand('markdown.preview.refresh');
  }
}

function standings(all: readonly Snapshot[]): string {
  return all.map((one) => [one.runId, ...one.requirements.map((each) => each.status)].join(' ')).join('\n');
}

function spaced(text: string): string {
  return text.trim().replace(/\s+/gu, ' ');
}

/** As the lens above the requirement says it. */
function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

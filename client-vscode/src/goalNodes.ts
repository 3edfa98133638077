import { visible } from './askedText';
import type { Range } from './protocol';

/** A node of the view Goals, as plain data: what it shows, what a click opens, what is under it. */
export interface TreeNode {
  /** The same for the same thing in every snapshot, so that what is expanded stays so. */
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly icon: Icon | undefined;
  /** What a screen reader says in place of label, icon and description. */
  readonly spoken: string;
  /** `viewItem` in the menus of package.json. */
  readonly context: string;
  readonly opens: 'never' | 'collapsed' | 'expanded';
  readonly about: About;
  readonly click: Click | undefined;
  /** Markdown; asked for when the pointer rests on the node, and no reason to draw it again. */
  readonly tooltip: () => string;
  readonly children: readonly TreeNode[];
  /** Set where the children are iterations that no snapshot holds any more: they are asked for when expanded. */
  readonly later: string | undefined;
}

export interface Icon {
  readonly name: string;
  readonly color?: string;
}

/** What a node is about: the fields that commands of its menu read; a goal that was never pursued has no run. */
export interface About {
  readonly runId?: string;
  readonly goalUri?: string;
  readonly interruptId?: string;
  readonly requirementId?: string;
  readonly findingId?: string;
  readonly evidenceId?: string;
  readonly iteration?: number;
  readonly path?: string;
}

export interface RunAbout extends About {
  readonly runId: string;
}

export type Click =
  | { readonly kind: 'goal'; readonly goalUri: string }
  | { readonly kind: 'place'; readonly uri: string; readonly range: Range }
  | { readonly kind: 'evidence'; readonly runId: string; readonly evidenceId: string }
  | { readonly kind: 'interrupt'; readonly runId: string; readonly interruptId: string }
  | { readonly kind: 'choice'; readonly runId: string; readonly interruptId: string; readonly choice: string }
  | { readonly kind: 'words'; readonly runId: string; readonly interruptId: string }
  | { readonly kind: 'change'; readonly runId: string; readonly iteration: number; readonly path: string };

/** How the person's language says it: `vscode.l10n`, or as it is written. */
export interface Language {
  readonly t: (message: string, ...values: (string | number | boolean)[]) => string;
}

type Given = Pick<TreeNode, 'id' | 'label' | 'about'> & Partial<TreeNode>;

/** A node with what isn't said filled in: it opens when it has children, and speaks its label and description. */
export function node(given: Given): TreeNode {
  const { label, description = '', children = [] } = given;
  return {
    icon: undefined,
    context: '',
    click: undefined,
    tooltip: () => plain(label),
    later: undefined,
    spoken: description === '' ? label : `${label}, ${description}`,
    opens: children.length === 0 ? 'never' : 'collapsed',
    ...given,
    description,
    children,
  };
}

/** Text of a worker, a check or a goal as Markdown that shows just that text. */
export function plain(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~$&:@/]/gu, (sign) => `\\${sign}`).replace(/\r?\n/gu, '  \n');
}

/** A fenced block that its text can't leave. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map((run) => run[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Text of a goal file without the marks of code, which labels can't show. */
export function withoutMarks(text: string): string {
  return text.replace(/`+([^`]*)`+/gu, '$1');
}

/** The first line, cut where it is long: labels and descriptions are one line. */
export function oneLine(text: string, most = 120): string {
  const line = visible(text).trim().split(/\r?\n/u, 1)[0] ?? '';
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

import * as vscode from 'vscode';

/** The person went one step back. */
export const Back = Symbol('back');

/** What a list shows may still grow, or be told anew, while a person looks at it. */
export interface Live<T> {
  items(): readonly T[];
  /** Whether more is to come. */
  busy(): boolean;
  readonly onDidChange: vscode.Event<void>;
}

interface Step<T extends vscode.QuickPickItem, R> {
  readonly title: string;
  readonly step: number;
  readonly totalSteps: number;
  readonly placeholder: string;
  readonly value?: string;
  readonly list: Live<T>;
  /** What stands for a text that was typed, before or in place of the list. */
  typed(text: string): { readonly item: T; readonly alone: boolean };
  /** What Enter gives, with what was typed; undefined: the step stays, with the text taken. */
  accept(text: string, item: T | undefined): R | undefined | Promise<R>;
}

/** One of several steps of a question, its first item active; undefined where the person leaves. */
export async function quickStep<T extends vscode.QuickPickItem, R>(step: Step<T, R>): Promise<R | typeof Back | undefined> {
  const { title, step: number, totalSteps, placeholder, value = '', list } = step;
  const pick = vscode.window.createQuickPick<T>();
  Object.assign(pick, { title, step: number, totalSteps, placeholder, value, ignoreFocusOut: true });
  pick.buttons = number > 1 ? [vscode.QuickInputButtons.Back] : [];
  const show = (): void => {
    const text = pick.value.trim();
    const typed = text === '' ? undefined : step.typed(text);
    pick.busy = list.busy();
    pick.keepScrollPosition = true;
    pick.items = [...(typed ? [{ ...typed.item, alwaysShow: true }] : []), ...(typed?.alone === true ? [] : list.items())];
    pick.activeItems = pick.items.slice(0, 1);
  };
  show();
  const listening: { dispose(): void }[] = [pick];
  try {
    return await new Promise<R | typeof Back | undefined>((resolve, reject) => {
      const accept = (): void => {
        // Whoever types fast is ahead of the list: what was typed counts.
        const given = step.accept(pick.value.trim(), pick.selectedItems[0]);
        if (given === undefined) {
          pick.value = '';
          show();
        } else {
          pick.busy = true;
          Promise.resolve(given).then(resolve, reject);
        }
      };
      listening.push(
        list.onDidChange(show),
        pick.onDidChangeValue(show),
        pick.onDidAccept(accept),
        pick.onDidTriggerButton(() => { resolve(Back); }),
        pick.onDidTriggerItemButton(({ item }) => {
          pick.value = 'text' in item ? String(item.text) : '';
          show();
        }),
        pick.onDidHide(() => { resolve(undefined); }),
      );
      pick.show();
    });
  } finally {
    vscode.Disposable.from(...listening).dispose();
  }
}

export interface Proposed extends vscode.QuickPickItem {
  /** The text that it stands for. */
  readonly text: string;
}

/** Beside what can be taken as it stands, or changed first. */
export function editButton(): vscode.QuickInputButton {
  return { iconPath: new vscode.ThemeIcon('edit'), tooltip: vscode.l10n.t('Edit Before Taking It') };
}

type TextStep = Omit<Step<Proposed, string>, 'typed' | 'accept'>;

/** Asks for a text, typed or one of those that are proposed. */
export function textStep(step: TextStep): Promise<string | typeof Back | undefined> {
  return quickStep<Proposed, string>({
    ...step,
    typed: (text) => ({ item: { label: text, description: vscode.l10n.t('press Enter'), text }, alone: true }),
    accept: (text, item) => (text === '' ? item?.text : text),
  });
}

import * as vscode from 'vscode';

/** The person went one step back. */
export const Back = Symbol('back');

interface Step {
  readonly title: string;
  readonly step: number;
  readonly totalSteps: number;
  readonly placeholder: string;
}

/** A list that may still grow, or be told anew, while a person looks at it. */
export interface Live<T> {
  items(): readonly T[];
  /** Whether more is to come. */
  busy(): boolean;
  readonly onDidChange: vscode.Event<void>;
}

export interface Proposed extends vscode.QuickPickItem {
  /** The text that it stands for. */
  readonly text: string;
}

/** Beside what can be taken as it stands, or changed first. */
export function editButton(): vscode.QuickInputButton {
  return { iconPath: new vscode.ThemeIcon('edit'), tooltip: vscode.l10n.t('Edit Before Taking It') };
}

interface TextOptions extends Step {
  readonly value: string;
  readonly proposed: Live<Proposed>;
  /** What is said of the text that was typed. */
  readonly typed: string;
}

/** Asks for a text, typed or one of those that are proposed; undefined where the person leaves. */
export function textStep(options: TextOptions): Promise<string | typeof Back | undefined> {
  const pick = vscode.window.createQuickPick<Proposed>();
  pick.value = options.value;
  const show = (): void => {
    const text = pick.value.trim();
    pick.busy = options.proposed.busy();
    pick.items = text === '' ? options.proposed.items() : [{ label: text, description: options.typed, text, alwaysShow: true }];
  };
  show();
  return shown(pick, options, (accept) => [
    options.proposed.onDidChange(show),
    pick.onDidChangeValue(show),
    pick.onDidTriggerItemButton(({ item }) => {
      pick.value = item.text;
      show();
    }),
    pick.onDidAccept(() => {
      // Whoever types fast is ahead of the list: what was typed counts.
      const text = pick.value.trim() || pick.selectedItems[0]?.text;
      if (text !== undefined && text !== '') {
        accept(text);
      }
    }),
  ]);
}

export interface Choice extends vscode.QuickPickItem {
  /** Changes what is chosen and stays; without it, the item is what the step ends with. */
  toggle?(): void;
}

interface ChoicesOptions<T extends Choice> extends Step {
  readonly choices: Live<T>;
  /** What is offered for typed text that is not an item. */
  adding(text: string): T;
  add(text: string): void;
  /** Awaited before the step ends: what the list is still waiting for. */
  readonly ready: Promise<unknown>;
}

/** A list in which some items switch something, and others end the step; the first one is active. */
export function choicesStep<T extends Choice>(options: ChoicesOptions<T>): Promise<T | typeof Back | undefined> {
  const pick = vscode.window.createQuickPick<T>();
  const show = (): void => {
    pick.busy = options.choices.busy();
    pick.keepScrollPosition = true;
    const text = pick.value.trim();
    const added = text === '' ? [] : [{ ...options.adding(text), alwaysShow: true }];
    pick.items = [...added, ...options.choices.items()];
    pick.activeItems = pick.items.slice(0, 1);
  };
  show();
  return shown(pick, options, (accept, fail) => [
    options.choices.onDidChange(show),
    pick.onDidChangeValue(show),
    pick.onDidAccept(() => {
      const text = pick.value.trim();
      const [item] = pick.selectedItems;
      if (text !== '' && !isToggled(item, text)) {
        pick.value = '';
        options.add(text);
      } else if (item?.toggle !== undefined) {
        pick.value = '';
        item.toggle();
      } else if (item !== undefined) {
        pick.busy = true;
        options.ready.then(() => {
          accept(item);
        }, fail);
      }
    }),
  ]);
}

/** Whether the text was typed to find this item. */
function isToggled(item: Choice | undefined, text: string): boolean {
  return item?.toggle !== undefined && item.label.toLowerCase().startsWith(text.toLowerCase());
}

type Listen<T> = (accept: (value: T) => void, fail: (problem: unknown) => void) => vscode.Disposable[];

function shown<T>(input: vscode.QuickPick<never> | vscode.QuickPick<vscode.QuickPickItem>, step: Step, listen: Listen<T>): Promise<T | typeof Back | undefined> {
  const { title, step: number, totalSteps, placeholder } = step;
  Object.assign(input, { title, step: number, totalSteps, placeholder, ignoreFocusOut: true });
  input.buttons = step.step > 1 ? [vscode.QuickInputButtons.Back] : [];
  const asked = new Promise<T | typeof Back | undefined>((resolve, reject) => {
    const listening = [
      ...listen(resolve, reject),
      input.onDidTriggerButton(() => {
        resolve(Back);
      }),
      input.onDidHide(() => {
        resolve(undefined);
        vscode.Disposable.from(...listening).dispose();
      }),
    ];
  });
  input.show();
  return asked.finally(() => {
    input.dispose();
  });
}

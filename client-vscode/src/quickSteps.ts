import * as vscode from 'vscode';

/** The person went one step back. */
export const Back = Symbol('back');

interface Step {
  readonly title: string;
  readonly step: number;
  readonly totalSteps: number;
}

interface InputOptions extends Step {
  readonly value: string;
  readonly placeholder: string;
  validate(text: string): string | undefined;
}

/** Asks for a text; undefined where the person leaves. */
export function inputStep(options: InputOptions): Promise<string | typeof Back | undefined> {
  const box = vscode.window.createInputBox();
  Object.assign(box, { value: options.value, placeholder: options.placeholder });
  return shown(box, options, (accept) => [
    box.onDidChangeValue(() => {
      box.validationMessage = undefined;
    }),
    box.onDidAccept(() => {
      box.validationMessage = options.validate(box.value);
      if (box.validationMessage === undefined) {
        accept(box.value);
      }
    }),
  ]);
}

interface OneOptions<T extends vscode.QuickPickItem> extends Step {
  readonly items: readonly T[];
  active(item: T): boolean;
}

/** Asks for one of the items. */
export function oneStep<T extends vscode.QuickPickItem>(options: OneOptions<T>): Promise<T | typeof Back | undefined> {
  const pick = vscode.window.createQuickPick<T>();
  pick.items = options.items;
  pick.activeItems = options.items.filter((item) => options.active(item));
  return shown(pick, options, (accept) => [
    pick.onDidAccept(() => {
      const [item] = pick.selectedItems;
      if (item !== undefined) {
        accept(item);
      }
    }),
  ]);
}

interface ManyOptions<T extends vscode.QuickPickItem> extends Step {
  readonly items: Promise<readonly T[]>;
  readonly none: string;
  /** What is said until the items are there. */
  readonly busy: string;
}

/** Asks for any number of the items, all of them at first. */
export function manyStep<T extends vscode.QuickPickItem>(
  options: ManyOptions<T>,
): Promise<readonly T[] | typeof Back | undefined> {
  const pick = vscode.window.createQuickPick<T>();
  pick.canSelectMany = true;
  pick.busy = true;
  pick.placeholder = options.busy;
  return shown(pick, options, (accept, fail) => {
    options.items.then((items) => {
      pick.busy = false;
      pick.items = items;
      pick.selectedItems = items.filter((item) => item.picked !== false);
      pick.placeholder = items.length === 0 ? options.none : '';
    }, fail);
    return [
      pick.onDidAccept(() => {
        if (!pick.busy) {
          accept(pick.selectedItems);
        }
      }),
    ];
  });
}

type Listen<T> = (accept: (value: T) => void, fail: (problem: unknown) => void) => vscode.Disposable[];

function shown<T>(
  input: vscode.InputBox | vscode.QuickPick<never> | vscode.QuickPick<vscode.QuickPickItem>,
  step: Step,
  listen: Listen<T>,
): Promise<T | typeof Back | undefined> {
  Object.assign(input, { title: step.title, step: step.step, totalSteps: step.totalSteps, ignoreFocusOut: true });
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

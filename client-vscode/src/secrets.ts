import * as vscode from 'vscode';
import { askText, SOMETHING } from './asking';

const STORED = 'keys';

/** The names that a key may have, the usual ones first; what they stand for is for people. */
const NAMES: readonly (readonly [string, string])[] = [
  ['ANTHROPIC_API_KEY', 'Anthropic'],
  ['OPENAI_API_KEY', 'OpenAI'],
  ['GEMINI_API_KEY', 'Google Gemini'],
  ['MISTRAL_API_KEY', 'Mistral'],
  ['OPENROUTER_API_KEY', 'OpenRouter'],
  ['DEEPSEEK_API_KEY', 'DeepSeek'],
  ['GROQ_API_KEY', 'Groq'],
  ['XAI_API_KEY', 'xAI'],
];

/** The variable that holds the key of a model's provider, and the provider's name; undefined where it is not known. */
function keyOf(model: string): readonly [string, string] | undefined {
  const provider = model.split('/', 1)[0]?.toUpperCase() ?? '';
  return NAMES.find(([name]) => name === `${provider}_API_KEY`);
}

/** The variable that holds the key for a model: an address of the person's own has a key of its own. */
export function keyName(model: string, role: 'worker' | 'judge', ownAddress: boolean): string | undefined {
  return ownAddress ? (role === 'judge' ? 'DONEWHEN_JUDGE_API_KEY' : 'DONEWHEN_API_KEY') : keyOf(model)?.[0];
}

interface Secret {
  readonly name: string;
  readonly value: string;
}

/** API keys: in the editor's secret storage, handed to the server over its own connection, nowhere else. */
export class Secrets {
  constructor(
    private readonly storage: vscode.SecretStorage,
    /** Hands a key to the server; an empty value is forgotten there. */
    private readonly hand: (secret: Secret) => void,
  ) {}

  async all(): Promise<Secret[]> {
    return Object.entries(await this.stored()).map(([name, value]) => ({ name, value }));
  }

  /** Asks for a key, the one that is known to be meant, and hands it over, or forgets it; false where the person leaves. */
  async ask(known?: string): Promise<boolean> {
    const name = known ?? (await this.chooseName());
    const value = name === undefined ? undefined : await (known === undefined ? this.askValue(name) : askValue(known));
    if (name === undefined || value === undefined) {
      return false;
    }
    await this.keep(name, value);
    const told =
      value === '' ? vscode.l10n.t('The key {0} is forgotten.', name) : vscode.l10n.t('The key {0} is stored.', name);
    vscode.window.setStatusBarMessage(told, 5_000);
    return true;
  }

  /**
   * Asks for the keys that the models' providers need, where neither the key ring nor the environment has them. Left
   * empty, a provider goes without: the server then says what is missing when it is called.
   *
   * @returns false where the person leaves.
   */
  async askMissing(models: readonly string[]): Promise<boolean> {
    const stored = await this.stored();
    const needed = new Map(models.map((model) => keyOf(model)).filter((key) => key !== undefined));
    for (const [name, provider] of needed) {
      if (name in stored || (process.env[name] ?? '') !== '') {
        continue;
      }
      const value = await askOptionalValue(name, provider);
      if (value === undefined) {
        return false;
      }
      if (value !== '') {
        await this.keep(name, value);
      }
    }
    return true;
  }

  private async keep(name: string, value: string): Promise<void> {
    const others = Object.entries(await this.stored()).filter(([stored]) => stored !== name);
    const all = value === '' ? others : [...others, [name, value]];
    await this.storage.store(STORED, JSON.stringify(Object.fromEntries(all)));
    this.hand({ name, value });
  }

  /** What another window stored or forgot holds for this one's server too. */
  follow(): vscode.Disposable {
    let known = new Set<string>();
    const tell = async (): Promise<void> => {
      const all = await this.all();
      const names = new Set(all.map((one) => one.name));
      const gone = [...known].filter((name) => !names.has(name)).map((name) => ({ name, value: '' }));
      [...all, ...gone].forEach((secret) => {
        this.hand(secret);
      });
      known = names;
    };
    // A key ring that can't be read is told when the server starts, and when a key is to be stored.
    const unread = (): void => undefined;
    this.all().then((all) => (known = new Set(all.map((one) => one.name))), unread);
    return this.storage.onDidChange(({ key }) => {
      if (key === STORED) {
        tell().catch(unread);
      }
    });
  }

  /** An empty one is to be forgotten; undefined where the person leaves. */
  private async askValue(name: string): Promise<string | undefined> {
    if (name in (await this.stored())) {
      const replace = { label: vscode.l10n.t('Replace It'), forget: false };
      const forget = { label: vscode.l10n.t('Forget It'), forget: true };
      const title = vscode.l10n.t('The key {0} is stored', name);
      const chosen = await vscode.window.showQuickPick([replace, forget], { title, ignoreFocusOut: true });
      if (chosen?.forget !== false) {
        return chosen === undefined ? undefined : '';
      }
    }
    return askValue(name);
  }

  private async stored(): Promise<Record<string, string>> {
    return JSON.parse((await this.storage.get(STORED)) ?? '{}') as Record<string, string>;
  }

  private async chooseName(): Promise<string | undefined> {
    const stored = new Set((await this.all()).map((one) => one.name));
    const usual = NAMES.map(([name, description]) => ({ name, label: description, description: name }));
    const own = [
      { name: 'DONEWHEN_API_KEY', label: vscode.l10n.t("The worker's model"), description: 'DONEWHEN_API_KEY' },
      { name: 'DONEWHEN_JUDGE_API_KEY', label: vscode.l10n.t('The judge'), description: 'DONEWHEN_JUDGE_API_KEY' },
    ];
    const other = { name: '', label: vscode.l10n.t('Another name…'), description: '' };
    const items = [...usual, ...own, other].map((item) =>
      stored.has(item.name) ? { ...item, detail: vscode.l10n.t('stored') } : item,
    );
    const title = vscode.l10n.t('Which key?');
    const chosen = await vscode.window.showQuickPick(items, { title, ignoreFocusOut: true });
    return chosen?.name === '' ? askName() : chosen?.name;
  }
}

function askName(): Promise<string | undefined> {
  const title = vscode.l10n.t('The variable that the provider documents, such as COHERE_API_KEY');
  return askText({ title, like: /^[A-Z][A-Z0-9_]*$/u, wrong: vscode.l10n.t('Capitals, digits and _') });
}

function askOptionalValue(name: string, provider: string): Promise<string | undefined> {
  const prompt = vscode.l10n.t('Kept in the secret storage of the editor as {0}. Leave it empty to go without.', name);
  return askText({ title: vscode.l10n.t('The API key for {0}', provider), prompt, password: true });
}

function askValue(name: string): Promise<string | undefined> {
  const prompt = vscode.l10n.t('Kept in the secret storage of the editor.');
  return askText({ title: name, prompt, password: true, like: SOMETHING, wrong: vscode.l10n.t('A key is needed.') });
}

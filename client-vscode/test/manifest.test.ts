import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Property {
  readonly scope?: string;
  readonly default?: unknown;
  readonly markdownDescription?: string;
}

interface MenuItem {
  readonly command: string;
  readonly when?: string;
  readonly group?: string;
}

interface Manifest {
  readonly keywords: readonly string[];
  readonly activationEvents: readonly string[];
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly category: string; readonly title: string }[];
    readonly configuration: readonly { readonly properties: Readonly<Record<string, Property>> }[];
    readonly menus: Readonly<Record<string, readonly MenuItem[]>>;
    readonly viewsWelcome: readonly { readonly view: string; readonly contents: string; readonly when: string }[];
    readonly walkthroughs: readonly {
      readonly steps: readonly { readonly description: string; readonly media: { readonly markdown: string } }[];
    }[];
  };
}

const text = readFileSync('package.json', 'utf8');
const manifest = JSON.parse(text) as Manifest;
const nls = JSON.parse(readFileSync('package.nls.json', 'utf8')) as Record<string, string>;
const { commands, configuration, menus, viewsWelcome, walkthroughs } = manifest.contributes;
const settings = Object.fromEntries(configuration.flatMap((group) => Object.entries(group.properties)));
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(`src/${name}`, 'utf8'))
  .join('\n');

test('every text of the manifest can be translated, and no translation is left over', () => {
  const named = new Set([...text.matchAll(/"%([\w.]+)%"/g)].map((match) => match[1]));
  expect([...named].sort()).toEqual(Object.keys(nls).sort());
});

test('every command has the one category, unless its title names the extension, and is registered', () => {
  for (const { command, category, title } of commands) {
    const named = nls[title.replaceAll('%', '')]?.startsWith('Done When: ') === true;
    expect(category, command).toBe(named ? undefined : '%displayName%');
    expect(sources, command).toContain(`'${command}'`);
  }
});

test('menus offer only commands that there are', () => {
  const known = new Set(commands.map((one) => one.command));
  expect(Object.values(menus).flat().filter((item) => !known.has(item.command))).toEqual([]);
});

test('the palette offers what concerns a run where there is one, and what runs something where the workspace is trusted', () => {
  const conditions = new Map((menus['commandPalette'] ?? []).map(({ command, when }) => [command, when ?? '']));
  const ofRuns = ['pause', 'resume', 'takeOver', 'stop', 'answer', 'report', 'revertToIteration', 'waive', 'showTimeline'];
  for (const name of ofRuns) {
    expect(conditions.get(`donewhen.${name}`), name).toMatch(/donewhen\.(active|resumable|takeOver|asks|runs)/);
  }
  for (const name of ['start', 'checkNow', 'resume', 'takeOver', 'answer', 'revertToIteration', 'dispute', 'guard']) {
    expect(conditions.get(`donewhen.${name}`), name).toContain('isWorkspaceTrusted');
  }
  // Without a goal, or a folder, these say what to do first.
  for (const name of ['setGoal', 'goalStatus', 'chooseModels', 'restartServer', 'showLogs']) {
    expect(commands.map(({ command }) => command)).toContain(`donewhen.${name}`);
    expect(conditions.has(`donewhen.${name}`), name).toBe(false);
  }
});

test('a goal that is open has a button that starts it', () => {
  expect((menus['editor/title'] ?? []).map(({ command }) => command)).toContain('donewhen.start');
});

/** The commands that a text of the manifest has as links, which the editor draws as buttons where a line holds nothing else. */
function linked(text: string): string[] {
  return [...(nls[text.replaceAll('%', '')] ?? '').matchAll(/\]\(command:([\w.]+)\)/g)].map((match) => match[1] ?? '');
}

test('an empty view says what to do, with one button', () => {
  const offered = viewsWelcome.map(({ view, contents, when }) => [view, when, linked(contents)]);
  expect(offered).toEqual([
    ['donewhen.goals', 'workspaceFolderCount > 0', ['donewhen.setGoal']],
    ['donewhen.goals', 'workspaceFolderCount == 0', ['workbench.action.files.openFolder']],
  ]);
});

test('each step of the walkthrough has a picture that is said in words, a button for what it is about, and commands that there are', () => {
  const steps = walkthroughs.flatMap((one) => one.steps);
  const known = [...commands.map(({ command }) => command), 'donewhen.goals.focus', 'workbench.action.closeSidebar'];
  for (const { description, media } of steps) {
    const pictures = [...readFileSync(media.markdown, 'utf8').matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)];
    expect(pictures, media.markdown).toHaveLength(1);
    for (const [, said = '', file = ''] of pictures) {
      expect(said.length, file).toBeGreaterThan(20);
      expect(existsSync(`walkthrough/${file}`), file).toBe(true);
    }
    expect(linked(description).filter((command) => !known.includes(command))).toEqual([]);
  }
  const first = steps.map(({ description }) => linked(description)[0]);
  expect(first).toEqual(['donewhen.setGoal', 'donewhen.start', 'donewhen.goals.focus', 'donewhen.chooseWorker']);
});

test('the page of the extension says what it promises without a picture', () => {
  const readme = readFileSync('README.md', 'utf8');
  const text = readme.replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '');
  for (const promise of ['Quick start', '✔ met', '✘ unmet', 'vscode.dev and github.dev', 'Linux x64 and arm64']) {
    expect(text).toContain(promise);
  }
  const pictures = [...readme.matchAll(/!\[([^\]]*)\]\(([^)]*)\)/g)];
  expect(pictures.filter(([, said = '', file = '']) => said === '' || !existsSync(file))).toEqual([]);
});

test('whatever a row offers as a button, its context menu offers too, where keyboards reach it', () => {
  const items = menus['view/item/context'] ?? [];
  const isInline = (item: MenuItem): boolean => item.group?.startsWith('inline') === true;
  const contexts = [...CONTEXTS, ...items.flatMap(({ when = '' }) => /viewItem == (\S+)/.exec(when)?.[1] ?? [])];
  for (const button of items.filter(isInline)) {
    const entries = items.filter((item) => !isInline(item) && item.command === button.command);
    const rows = contexts.filter((context) => fits(button, context));
    expect(rows, button.when).not.toEqual([]);
    expect(rows.filter((row) => !entries.some((item) => fits(item, row))), button.command).toEqual([]);
  }
});

test('the row of a goal offers as a button to go on where it can, else to start', () => {
  const steering = ['donewhen.start', 'donewhen.resume', 'donewhen.takeOver', 'donewhen.pause'];
  const inline = (menus['view/item/context'] ?? []).filter(({ group, command }) => group === 'inline@1' && steering.includes(command));
  const offered = (status: string): string[] => inline.filter((item) => fits(item, `goal.${status}`)).map(({ command }) => command);
  expect(offered('new')).toEqual(['donewhen.start']);
  expect(offered('checked')).toEqual(['donewhen.start']);
  expect(offered('checked.resumable')).toEqual(['donewhen.resume']);
  expect(offered('capped')).toEqual(['donewhen.resume']);
  expect(offered('interrupted')).toEqual(['donewhen.resume']);
  expect(offered('interrupted.takeOver')).toEqual(['donewhen.takeOver']);
  expect(offered('running')).toEqual(['donewhen.pause']);
});

const STATUSES = ['new', 'checked', 'running', 'waiting', 'paused', 'interrupted', 'complete', 'capped', 'cancelled', 'interrupted.takeOver', 'checked.resumable', 'crashed'];
const CONTEXTS = [
  ...STATUSES.map((status) => `goal.${status}`),
  ...['start', 'approval', 'choice', 'question'].map((kind) => `interrupt.${kind}`),
  ...['met', 'unmet', 'unverified', 'stale', 'waived'].map((status) => `requirement.${status}`),
  'iteration.revertible',
];

function fits({ when = '' }: MenuItem, context: string): boolean {
  const pattern = /viewItem =~ \/(.+)\/$/.exec(when)?.[1];
  return pattern === undefined ? when.endsWith(`viewItem == ${context}`) : new RegExp(pattern).test(context);
}

test('palette commands are none of the server, which the client registers by itself', () => {
  const protocol = readFileSync('src/protocol.ts', 'utf8');
  expect(commands.filter(({ command }) => protocol.includes(`'${command}'`))).toEqual([]);
});

test.each(Object.entries(settings))('%s has a default, a description and a scope', (_name, setting) => {
  expect(setting.default).toBeDefined();
  expect(setting.markdownDescription).toMatch(/^%.+%$/);
});

/** What a file of a workspace may set: `tests/settings/test_table.py` compares it with what the server takes from one. */
const ofWorkspaces = Object.keys(settings).filter((name) => settings[name]?.scope === 'window');

test('what a file of a workspace can’t set belongs to the machine', () => {
  const others = Object.entries(settings).filter(([name]) => !ofWorkspaces.includes(name));
  expect(others.filter(([, { scope }]) => scope !== 'machine')).toEqual([]);
});

test('nothing is taken from an untrusted workspace', () => {
  const restricted = [...manifest.capabilities.untrustedWorkspaces.restrictedConfigurations].sort();
  const programs = ['serverPath', 'interpreter', 'workerCommand', 'agentCommand', 'passEnv'].map((name) => `donewhen.${name}`);
  expect(restricted).toEqual([...ofWorkspaces, ...programs].sort());
});

test('a goal is seen at once, and one that is made later too', () => {
  const goal = /^(workspaceContains:(\*\*\/)?(GOAL|\*\.goal)\.md|onWebviewPanel:donewhen\.\w+|onFileSystem:donewhen)$/;
  expect(manifest.activationEvents.filter((event) => !goal.test(event))).toEqual(['onStartupFinished']);
  expect(manifest.keywords.length).toBeLessThanOrEqual(5);
});

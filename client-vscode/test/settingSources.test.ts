import { expect, test } from 'vitest';
import { OF_WORKSPACES, saidBy } from '../src/settingSources';

test('what the workspace says stands apart from what the person says', () => {
  const said = saidBy([
    ['model', { globalValue: 'openai/mine', workspaceValue: 'openai/theirs' }],
    ['protect', { workspaceValue: ['a'], workspaceFolderValue: ['b'] }],
    ['approve', { globalValue: 'ask' }],
    ['timeout', {}],
  ]);
  expect(said).toEqual({ model: 'openai/mine', approve: 'ask', workspace: { model: 'openai/theirs', protect: ['b'] } });
});

const OF_PERSONS = [
  ...['serverPath', 'interpreter', 'workerCommand', 'agentCommand', 'passEnv', 'apiBase', 'judgeApiBase', 'judgePrompt', 'stateDir', 'approve'],
  ...['sandbox', 'network', 'sandboxChecks', 'roomWrites', 'roomReads', 'roomProcesses', 'roomMemory', 'roomDisk', 'other'],
];

test.each(OF_PERSONS)(
  '%s is never taken from a workspace',
  (name) => {
    expect(OF_WORKSPACES.has(name)).toBe(false);
    expect(saidBy([[name, { workspaceValue: 'theirs', workspaceFolderValue: 'theirs' }]])).toEqual({});
    expect(saidBy([[name, { globalValue: 'mine', workspaceValue: 'theirs' }]])).toEqual({ [name]: 'mine' });
  },
);

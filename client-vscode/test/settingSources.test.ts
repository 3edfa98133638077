import { expect, test } from 'vitest';
import { saidBy } from '../src/settingSources';

test('what the workspace says stands apart from what the person says', () => {
  const said = saidBy([
    ['model', { globalValue: 'openai/mine', workspaceValue: 'openai/theirs' }],
    ['protect', { workspaceValue: ['a'], workspaceFolderValue: ['b'] }],
    ['approve', { globalValue: 'ask' }],
    ['timeout', {}],
  ]);
  expect(said).toEqual({ model: 'openai/mine', approve: 'ask', workspace: { model: 'openai/theirs', protect: ['b'] } });
});

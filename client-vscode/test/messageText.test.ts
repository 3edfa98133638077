import { expect, test } from 'vitest';
import { withoutLinks } from '../src/messageText';

/** What VS Code takes for a link in a notification. */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i;

test.each(['[x](command:a)', 'run `[Fix it](command:b?1 "t")`?', '[a](https://e.test)', '[[x](command:c)]'])('%s is no link', (text) => {
  expect(text).toMatch(LINK);
  expect(withoutLinks(text)).not.toMatch(LINK);
  expect(withoutLinks(text).replaceAll('\u2060', '')).toBe(text);
});

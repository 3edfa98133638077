import { expect, test } from 'vitest';
import { goalTitle } from '../src/goalTitle';

test.each([
  ['# Ship it\n\n- [ ] `true` passes\n', 'Ship it'],
  ['---\n# of the settings\nworker: human\n---\r\n\n#  Make `add` right ##\r\n', 'Make add right'],
  ['- [ ] no heading\n', undefined],
  ['', undefined],
  ['## Only a part\n', undefined],
])('%j', (text, expected) => {
  expect(goalTitle(text)).toBe(expected);
});

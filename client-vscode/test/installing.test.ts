import { expect, test } from 'vitest';
import { pipInstall } from '../src/installing';

test('pip installs the wheel with its extras', () => {
  expect(pipInstall('/e/python', '/x/d.whl', []).at(-1)).toBe('/x/d.whl');
  expect(pipInstall('/e/python', '/x/d.whl', ['models']).at(-1)).toBe('/x/d.whl[models]');
});

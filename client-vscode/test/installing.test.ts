import { expect, test } from 'vitest';
import { pipInstall, uvInstall } from '../src/installing';

test('pip installs the wheel with its extras', () => {
  expect(pipInstall('/e/python', '/x/d.whl', []).at(-1)).toBe('/x/d.whl');
  expect(pipInstall('/e/python', '/x/d.whl', ['models']).at(-1)).toBe('/x/d.whl[models]');
});

test('what is set for pip holds for uv, unless uv has its own', () => {
  const environment = { PIP_FIND_LINKS: '/cache /more', PIP_NO_INDEX: '1', PIP_INDEX_URL: 'http://one', UV_DEFAULT_INDEX: 'http://two' };
  const words = uvInstall('/e/python', '/x/d.whl', [], environment);
  expect(words).toEqual([
    ...['uv', 'pip', 'install', '--python', '/e/python'],
    ...['--find-links', '/cache', '--find-links', '/more', '--no-index', '/x/d.whl'],
  ]);
});

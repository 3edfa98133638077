import { expect, test } from 'vitest';
import { applied, FollowedSnapshots } from '../src/changes';
import { node, snapshot } from './samples';

const first = { ...snapshot(), version: 7 };

test('a document is followed by its changes, and the one before stays as it is', () => {
  const before = { rows: [{ id: 'a', why: 'x' }, { id: 'b', why: 'y' }], left: { alone: true }, gone: 1 };
  const kept = structuredClone(before);
  const after = applied(before, [
    { op: 'replace', path: '/rows/1/why', value: null },
    { op: 'add', path: '/rows/0', value: { id: 'c' } },
    { op: 'remove', path: '/rows/1' },
    { op: 'remove', path: '/gone' },
    { op: 'add', path: '/a~1b~0', value: 2 },
  ]);
  expect(after).toEqual({ rows: [{ id: 'c' }, { id: 'b', why: null }], left: { alone: true }, 'a/b~': 2 });
  expect(before).toEqual(kept);
  expect((after as typeof before).left).toBe(before.left);
});

test('a document can be replaced as a whole', () => {
  expect(applied([1], [{ op: 'replace', path: '', value: {} }])).toEqual({});
});

test('a property keeps its name whatever that is', () => {
  const after = applied({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]);
  expect(Object.keys(after as object)).toEqual(['__proto__']);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('changes of the snapshot that is known make the next one', () => {
  const followed = new FollowedSnapshots();
  followed.whole(first);
  const second = followed.changed({
    runId: 'run-1',
    sequence: 2,
    base: 7,
    version: 9,
    changes: [
      { op: 'replace', path: '/sequence', value: 2 },
      { op: 'replace', path: '/view/node', value: node('goal') },
    ],
  });
  expect(second).toMatchObject({ runId: 'run-1', sequence: 2, title: first.title, view: { node: { id: 'goal' } } });
  const third = followed.changed({ runId: 'run-1', sequence: 3, base: 9, version: 10, changes: [{ op: 'replace', path: '/iteration', value: 5 }] });
  expect(third).toMatchObject({ sequence: 2, iteration: 5 });
});

test('a run of which a change was missed is asked for once, and followed again from the whole', () => {
  const followed = new FollowedSnapshots();
  const missed = { runId: 'run-1', sequence: 3, base: 8, version: 9, changes: [] };
  expect(followed.changed(missed)).toBe('lost');
  expect(followed.changed({ ...missed, base: 9, version: 10 })).toBeUndefined();
  followed.whole({ ...first, version: 11 });
  expect(followed.changed({ ...missed, base: 11, version: 12 })).toMatchObject({ runId: 'run-1' });
});

test('a change that fits nothing loses nothing but its run', () => {
  const followed = new FollowedSnapshots();
  followed.whole(first);
  const wrong = { runId: 'run-1', sequence: 2, base: 7, version: 8, changes: [{ op: 'remove', path: '/no/such/place' }] } as const;
  expect(followed.changed(wrong)).toBe('lost');
});

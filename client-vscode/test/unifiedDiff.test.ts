import { describe, expect, test } from 'vitest';
import { patched } from '../src/unifiedDiff';

const head = '--- a/f\n+++ b/f\n';

describe('applying a diff', () => {
  test.each([
    ['one\ntwo\nthree\n', '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three', 'one\n2\nthree\n'],
    ['', '@@ -0,0 +1,2 @@\n+a\n+b', 'a\nb\n'],
    ['a\nb\n', '@@ -1,2 +0,0 @@\n-a\n-b', ''],
    ['a\r\nb\r\n', '@@ -2 +2 @@\n-b\n+c', 'a\nc\n'],
    ['1\n2\n3\n4\n5\n6\n7\n8\n9', '@@ -1,2 +1,1 @@\n-1\n 2\n@@ -8,2 +7,3 @@\n 8\n 9\n+10', '2\n3\n4\n5\n6\n7\n8\n9\n10\n'],
    ['a\n', '@@ -1 +1,2 @@\n a\n+--- b', 'a\n--- b\n'],
  ])('%j', (before, hunks, after) => {
    expect(patched(before, head + hunks)).toBe(after);
  });

  test.each([
    ['other\n', '@@ -1 +1 @@\n-a\n+b'],
    ['a\nb\n', '@@ -1,2 +1,2 @@\n-a\n[… 300 characters left out …]\n+b'],
    ['a\nb\n', '@@ -1,2 +1,1 @@\n-a'],
  ])('not to another text, nor one that was cut: %j', (before, hunks) => {
    expect(patched(before, head + hunks)).toBeUndefined();
  });
});

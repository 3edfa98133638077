"""A unified diff, applied to the text that it is about, or to none."""

from __future__ import annotations

import pytest

from donewhen.wire.patching import patched
from tests.tools import each_row

HEAD = "--- a/f\n+++ b/f\n"


@each_row(
    "before, hunks, after",
    [
        ("one\ntwo\nthree\n", "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three", "one\n2\nthree\n"),
        ("", "@@ -0,0 +1,2 @@\n+a\n+b", "a\nb\n"),
        ("a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b", ""),
        ("a\r\nb\r\n", "@@ -2 +2 @@\n-b\n+c", "a\nc\n"),
        (
            "1\n2\n3\n4\n5\n6\n7\n8\n9",
            "@@ -1,2 +1,1 @@\n-1\n 2\n@@ -8,2 +7,3 @@\n 8\n 9\n+10",
            "2\n3\n4\n5\n6\n7\n8\n9\n10\n",
        ),
        ("a\n", "@@ -1 +1,2 @@\n a\n+--- b", "a\n--- b\n"),
    ],
)
def test_the_lines_of_a_diff_take_their_places(before: str, hunks: str, after: str) -> None:
    assert patched(before, HEAD + hunks) == after


@pytest.mark.parametrize(
    ("before", "hunks"),
    [
        ("other\n", "@@ -1 +1 @@\n-a\n+b"),
        ("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n[… 300 characters left out …]\n+b"),
        ("a\nb\n", "@@ -1,2 +1,1 @@\n-a"),
    ],
)
def test_a_diff_of_another_text_or_one_that_was_cut_is_applied_to_nothing(before: str, hunks: str) -> None:
    assert patched(before, HEAD + hunks) is None

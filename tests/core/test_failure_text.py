"""What a failed test says on one line: a table of what runners print."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.failure_text import LONGEST, around_difference, failure_text
from tests.tools import each_row

SAID = [
    ("its first line", "ValueError: no\n  more", "ValueError: no"),
    ("nothing", "", ""),
    ("values that it shows whole", "assert 'a' == 'b'\n  \n  - b\n  + a", "assert 'a' == 'b'"),
    (
        "pytest, a text that it cut",
        "AssertionError: assert 'aaaaaaa...bbbbb' == 'aaaaaaa...bbbbb'\n  \n  Skipping 90 identical characters\n"
        "  - aaaaybbb\n  ?     ^\n  + aaaaxbbb\n  ?     ^",
        "expected aaaaybbb, got aaaaxbbb",
    ),
    (
        "pytest, a mapping",
        "assert {'k': [0, 1, ...q'}} == {'k': [0, 1, ...p'}}\n  \n  Omitting 1 identical items, use -vv to show\n"
        "  Differing items:\n  {'z': 'q'} != {'z': 'p'}\n  Use -v to get more diff",
        "expected {'z': 'p'}, got {'z': 'q'}",
    ),
    (
        "pytest, a list",
        "assert [0, 1, ...] == [0, 1, ...]\n  \n  At index 250 diff: 250 != 7\n  Use -v to get more diff",
        "at index 250: expected 7, got 250",
    ),
    (
        "pytest, a list that is too short",
        "assert [0, 1, ...] == [0, 1, ...]\n  \n  Right contains one more item: 100\n  Use -v",
        "assert [0, 1, ...] == [0, 1, ...]: Right contains one more item: 100",
    ),
    (
        "pytest, cut without a difference",
        "assert 'xy' in 'aaaa...bbbb'\n +  where 'aaaa...bbbb' = f()",
        "assert 'xy' in 'aaaa...bbbb'",
    ),
    (
        "unittest cuts in the middle by itself",
        "AssertionError: 'aa[235 chars]x' != 'aa[235 chars]y'\n- aax\n+ aay\n",
        "AssertionError: 'aa[235 chars]x' != 'aa[235 chars]y'",
    ),
    ("doctest", "001 M.\n002 \n003 >>> f(2)\nExpected:\n    4\nGot:\n    2\n\n/x/m.py:3: DocTestFailure",
     "expected 4, got 2, from `f(2)`"),
    ("doctest, lines", "003     >>> f({})\nExpected:\n    {'a': 1,\n     'b': 2}\nGot:\n    {}\n",
     "expected {'a': 1, 'b': 2}, got {}, from `f({})`"),
    ("doctest, nothing", "003 >>> f(2)\nExpected nothing\nGot:\n    2\n", "expected nothing, got 2, from `f(2)`"),
    ("doctest, nothing came", "003 >>> f(2)\nExpected:\n    2\nGot nothing\n", "expected 2, got nothing, from `f(2)`"),
    ("doctest, raised", "003 >>> f(2)\nUNEXPECTED EXCEPTION: KeyError('x')\nTraceback (most recent call):\n",
     "KeyError('x'), from `f(2)`"),
    ("doctest by itself, raised",
     "Failed example:\n    f(2)\nException raised:\n    Traceback (most recent call last):\n"
     "      File \"x\", line 1, in <module>\n    KeyError: 'x'\n", "KeyError: 'x', from `f(2)`"),
    ("jest", "expect(received).toBe(expected) // Object.is\n\nExpected: 3\nReceived: 2\n", "expected 3, got 2"),
    (
        "jest, an object",
        "expect(received).toEqual(expected) // deep equality\n\n- Expected  - 1\n+ Received  + 1\n\n"
        '  Object {\n-   "a": 1,\n+   "a": 2,\n  }',
        'expected "a": 1,, got "a": 2,',
    ),
    ("node", "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n1 !== 2\n", "expected 2, got 1"),
    (
        "node, an object",
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:\n+ actual - expected\n\n"
        "  {\n+   a: 1\n-   a: 2\n  }\n",
        "expected a: 2, got a: 1",
    ),
]  # fmt: skip


@each_row("message, said", [(message, said) for _, message, said in SAID], ids=[row[0] for row in SAID])
def test_a_failure_says_what_was_expected(message: str, said: str) -> None:
    assert failure_text(message) == said


def test_long_values_are_shown_where_they_differ() -> None:
    same = "the same beginning, " * 40
    said = failure_text(f"001 >>> f()\nExpected:\n    {same}north{same}\nGot:\n    {same}south{same}\n")
    assert "north" in said
    assert "south" in said
    assert len(said) <= LONGEST


@given(st.text(), st.text(), st.text(), st.integers(min_value=5, max_value=90))
def test_the_first_difference_is_always_in_view(before: str, one: str, other: str, longest: int) -> None:
    one, other = before + "1" + one, before + "2" + other
    shown = around_difference(one, other, longest)
    assert shown[0] != shown[1]
    assert all(len(text) <= longest + 2 for text in shown)
    assert around_difference(one, one, len(one)) == (one, one)


@given(st.text(alphabet="Ex:p\n -+>...! Got", max_size=300))
def test_any_text_is_read_and_bounded(text: str) -> None:
    assert "\n" not in failure_text(text)
    assert len(failure_text(text * 3)) <= LONGEST

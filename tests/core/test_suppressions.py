"""Suppressions that came with the work."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.trials.untried import heeded, more_suppressed, no_longer_checked
from tests.tools import each_row

RUFF, ALL = (
    frozenset({"ruff"}),
    heeded(["ruff mypy eslint tsc golangci-lint clippy rubocop clang-tidy shellcheck --cov"]),
)


def more(before: str, now: str, tools: frozenset[str] = ALL, path: str = "src/a.py") -> list[str]:
    return [one.text for one in more_suppressed({path: (before.encode(), now.encode())}, tools)]


@each_row(
    "line",
    [
        "x = 1  # noqa: E501", "# ruff: noqa", "x = f()  # type: ignore[arg-type]", "def f():  # pragma: no cover",
        "// eslint-disable-next-line no-console", "// @ts-ignore", "foo() //nolint:errcheck", "#[allow(dead_code)]",
        "#![allow(clippy::all)]", "foo # rubocop:disable Style/Foo", "int x; // NOLINT", "# shellcheck disable=SC2086",
    ],
)  # fmt: skip
def test_a_suppression_more_is_found_on_its_line(line: str) -> None:
    assert more("x = 1\n", f"x = 1\n{line}\n") == [line]
    (found,) = more_suppressed({"a": (b"x = 1\n", f"x = 1\n{line}\n".encode())}, ALL)
    assert found.line == 1


def test_only_what_a_bound_check_heeds_counts() -> None:
    assert more("", "f()  # type: ignore\n", RUFF) == []
    assert more("", "f()  # noqa\n", RUFF) == ["f()  # noqa"]
    assert heeded(["python -m pytest -q"]) == frozenset()
    assert heeded(["make lint", "lint:\n\truff check .\n"]) == {"ruff"}
    assert heeded(["./truffle.sh"]) == frozenset()


def test_moving_or_removing_one_is_no_finding() -> None:
    moved = {"a.py": (b"f()  # noqa\n", b""), "b.py": (None, b"f()  # noqa\n")}
    assert more_suppressed(moved, RUFF) == ()
    assert more("f()  # noqa\ng()  # noqa\n", "f()  # noqa\n") == []
    assert more("f()  # noqa\n", "f()  # noqa: E501\n") == []


def test_what_is_no_text_holds_none() -> None:
    assert more_suppressed({"a.bin": (None, b"\0# noqa")}, RUFF) == ()


LINES = st.lists(st.sampled_from(["a = 1", "f()  # noqa", "g()  # noqa: E501", "# type: ignore"]), max_size=6)


@given(LINES, LINES)
def test_found_exactly_where_there_are_more_of_a_kind(before: list[str], now: list[str]) -> None:
    kinds = ("noqa", "type: ignore")
    grew = [kind for kind in kinds if sum(kind in x for x in now) > sum(kind in x for x in before)]
    found = more("\n".join(before), "\n".join(now))
    assert bool(found) == bool(grew)
    assert all(any(kind in text for kind in grew) for text in found)


def test_a_source_that_is_gone_is_told_unless_it_stands_elsewhere() -> None:
    source, other = b"import os\nx = 1\ny = 2\n", b"a = 1\n"
    assert no_longer_checked({"a.py": (source, None), "b.py": (None, other)}) == ("a.py",)
    assert no_longer_checked({"a.py": (source, None), "a.py.txt": (None, source)}) == ("a.py",)
    assert no_longer_checked({"a.py": (source, None), "b.py": (None, source + other)}) == ()
    assert no_longer_checked({"a.txt": (source, None), "b.py": (source, other)}) == ()

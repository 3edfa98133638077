"""Every bad input by name: a clear problem, never an exception, never a long wait."""

from __future__ import annotations

import time

import pytest

from donewhen.goalfile.parse import parse
from tests.tools import each_row

BOMB = "---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: &d [*c,*c]\nprotect: *d\n---\n# T"

BAD: dict[str, tuple[str | bytes, str, str]] = {
    "empty": ("", "empty", "the goal is empty"),
    "empty bytes": (b"", "empty", "the goal is empty"),
    "white space only": (" \n\t\n  \n", "empty", "the goal is empty"),
    "byte-order mark only": (b"\xef\xbb\xbf", "empty", "the goal is empty"),
    "front matter only": ("---\nworker: agent\n---\n", "empty", "the goal is empty"),
    "comment only": ("<!-- nothing -->", "empty", "the goal is empty"),
    "empty heading": ("#\n", "empty", "the goal is empty"),
    "empty requirement": ("- [ ]\n", "empty-requirement", "says nothing"),
    "empty requirement among others": ("- [ ] a\n- [ ]\n", "empty-requirement", "says nothing"),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", "line 3"),
    "binary text": ("a\0b", "binary", "Markdown"),
    "ten megabytes": (b"x" * 10_000_000, "too-large", "shorten it"),
    "ten megabytes of text": ("x\n" * 5_000_000, "too-large", "shorten it"),
    "too many lines": ("a\n" * 10_001, "too-large", "10,002 lines"),
    "too many lines with carriage returns": ("a\r" * 10_001, "too-large", "10,002 lines"),
    "too many requirements": ("- [ ] a\n" * 2_001, "too-many", "2000"),
    "unclosed front matter": ("---\nworker: agent\n# T\n", "unclosed-front-matter", "write a line `---`"),
    "duplicate keys": ("---\nworker: agent\nworker: human\n---\n# T", "duplicate-key", "set twice"),
    "not UTF-8": (b"# Title\n\xff\xfe\n", "encoding", "line 2"),
    "latin-1": ("# Größe".encode("latin-1"), "encoding", "save it as UTF-8"),
    "UTF-16": ("# Title".encode("utf-16"), "encoding", "UTF-16"),
    "lone surrogate": ("# T\n\nx\ud800", "encoding", "surrogate"),
    "front matter is a list": ("---\n- a\n---\n# T", "bad-front-matter", "key: value"),
    "front matter is a number": ("---\n5\n---\n# T", "bad-front-matter", "key: value"),
    "front matter is too large": ("---\n# " + "x" * 20_000 + "\n---\n# T", "too-large", "front matter"),
    "alias bomb": (BOMB, "unknown-key", "unknown key"),
    "deep flow nesting": ("---\nprotect: " + "[" * 5_000 + "\n---\n# T", "bad-front-matter", "too deeply"),
    "deep block nesting": ("---\nprotect: \n  " + "- " * 4_000 + "\n---\n# T", "bad-front-matter", "front matter"),
    "a key that is a list": ("---\n? [a, b]\n: c\n---\n# T", "unknown-key", "unknown key"),
    "a merge key": ("---\n<<: {a: b}\n---\n# T", "unknown-key", "unknown key"),
    "a python tag": ("---\nmodel: !!python/object/apply:os.system [ls]\n---\n# T", "bad-value", "model"),
    "check without command": ("- [ ] a\n  - check:\n", "empty-check", "has no value"),
    "file without glob": ("- [ ] a\n  - file: \n", "empty-file", "has no value"),
    "check with backticks alone": ("- [ ] a\n  - check: ``\n", "empty-check", "nothing between"),
    "check with empty backticks": ("- [ ] a\n  - check: ` `\n", "empty-check", "nothing between"),
    "check in the sentence": ("- [ ] a\n  check: `b`\n", "not-nested", "nested item"),
    "check at the top": ("- [ ] a\n- check: `b`\n", "not-nested", "indent it below"),
    "check not indented enough": ("1. [ ] a\n  - check: `b`\n", "not-nested", "indent it below"),
    "unclosed backtick": ("- [ ] a\n  - check: `pytest\n", "unclosed-backtick", "never closed"),
    "impossible exit code": ("- [ ] `a` exits 5000000000", "bad-value", "exits with"),
}


@each_row("name", BAD)
def test_bad_input_gives_a_clear_error(name: str) -> None:
    content, code, words = BAD[name]
    started = time.monotonic()
    parsed = parse(content)
    assert time.monotonic() - started < 10
    assert parsed.goal is None
    assert code in [problem.code for problem in parsed.errors]
    assert words in next(problem.message for problem in parsed.errors if problem.code == code)


@each_row(
    "name, content",
    [
        ("carriage returns", b"---\r\nworker: agent\r\n---\r\n# T\r\n\r\n- [ ] a\r\n  - check: `b`\r\n"),
        ("byte-order mark", b"\xef\xbb\xbf---\nworker: agent\n---\n# T\n\n- [ ] a\n  - check: `b`\n"),
        ("byte-order mark in text", "\ufeff---\nworker: agent\n---\n# T\n\n- [ ] a\n  - check: `b`\n"),
        ("trailing space at fences", "---  \nworker: agent\n--- \n# T\n\n- [ ] a\n  - check: `b`"),
        ("front matter closed by dots", "---\nworker: agent\n...\n# T\n\n- [ ] a\n  - check: `b`"),
    ],
)
def test_harmless_oddities_are_read(name: str, content: str | bytes) -> None:
    goal = parse(content).goal
    assert goal is not None, name
    assert (goal.title, goal.worker, goal.requirements[0].checks[0].command) == ("T", "agent", "b")


@pytest.mark.parametrize(
    "content",
    [
        "- [ ] x\n  - check: `a`\n" * 4_900, "- " * 400_000, "> " * 400_000, ("- " * 60 + "\n") * 5_000,
        "- [ ] " + "`a" * 400_000, "- [ ] a\n  - check: " + "`a`," * 20_000,
        "- [ ] a\n  - check: a" + " " * 900_000 + "b",
        "#\n" * 9_999, "---\n" + "a: b\n" * 3_000 + "---\n# T", "[a]: " * 150_000, "<!--" * 200_000,
        "- [ ] a " + "is very " * 100_000, "- [ ] a" + " ||" * 100_000, "- [ ] `a" + " ;" * 100_000 + "` passes",
    ],
    ids=lambda content: repr(content[:20]),
)  # fmt: skip
@pytest.mark.parametrize("part", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["a quarter", "whole"])
def test_large_and_strange_files_are_read_in_time(content: str, part: int) -> None:
    started = time.monotonic()
    parse(content[: len(content) // part])
    assert time.monotonic() - started < 10


@each_row(
    "text, severity, code, suggestion",
    [
        ("- [ ] `a` is fine here\n  - check: npm test\n", "hint", "no-backticks", "`npm test`"),
        ("- [ ] see `a`\n  - chek: `b`\n", "warning", "unknown-label", "check"),
        ("- [ ] see `a`\n  - files: `b`\n", "warning", "unknown-label", "file"),
        ("- [ ] see `a`\n  file: `b`\n", "warning", "not-nested", None),
        ("- [ ] see `a`\n- file: `b`\n", "warning", "not-nested", None),
        ("- [ ] see `a`\n- Quoted\n  - check: `b`\n", "warning", "not-a-task", None),
        ("- [ ] see `a`\n  - check: `b` or so\n", "warning", "ignored-text", None),
        ("- []see `a`\n- [ ] see `a`", "warning", "not-a-task", "[ ] "),
        ("- [ ]see `a`\n- [ ] see `a`", "warning", "not-a-task", "[ ] "),
    ],
)
def test_near_misses_are_pointed_out(text: str, severity: str, code: str, suggestion: str | None) -> None:
    parsed = parse(text)
    assert parsed.goal is not None
    assert (severity, code, suggestion) in [(p.severity, p.code, p.suggestion) for p in parsed.problems]


def test_a_link_is_no_near_miss() -> None:
    assert [p.code for p in parse("- [x](https://example.org) says so\n- [ ] see `a`").problems] == []


def test_the_outline_survives_a_front_matter_that_is_never_closed() -> None:
    assert [r.text for r in parse("---\nworker: agent\n\n# T\n\n- [ ] a\n").outline] == ["a"]

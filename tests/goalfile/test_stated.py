"""What objectives say of commands and files, in the ways in which people write it."""

from __future__ import annotations

from donewhen.goalfile.stated import stated_commands, stated_files
from tests.tools import each_row


@each_row(
    "text, commands",
    [
        ("`python -m pytest -q` passes", {"python -m pytest -q": 0}),
        ("``pytest -k 'a'`` passes", {"pytest -k 'a'": 0}),
        ("The goal is complete only when `python -m pytest -q` passes.", {"python -m pytest -q": 0}),
        ("`a` and `b` pass", {"a": 0, "b": 0}),
        ("`a`, `b`, and `c` all succeed.", {"a": 0, "b": 0, "c": 0}),
        ("`ruff check .` is clean and `pytest` passes on Python 3.12", {"ruff check .": 0, "pytest": 0}),
        ("make `pytest -q` pass", {"pytest -q": 0}),
        ("Get `pytest` to pass, please", {"pytest": 0}),
        ("`pytest` must pass", {"pytest": 0}),
        ("`pytest` runs without errors", {"pytest": 0}),
        ("`make lint` is green", {"make lint": 0}),
        ("`pytest` exits 0", {"pytest": 0}),
        ("`pytest` exits with code 0", {"pytest": 0}),
        ("`grep -r TODO src` exits with 1", {"grep -r TODO src": 1}),
        ("`mypy src` reports no errors", {"mypy src": 0}),
        ("run `make` until it exits with 0", {"make": 0}),
        ("all tests pass with `npm test`", {"npm test": 0}),
        ("The tests pass (`pytest -q`).", {"pytest -q": 0}),
        ("no errors from `ruff check .`", {"ruff check .": 0}),
        ("the exit code of `make` is 0", {"make": 0}),
        ('"pytest -q" passes', {"pytest -q": 0}),
        ("python -m pytest -q passes", {"python -m pytest -q": 0}),
        ("make sure that pytest passes", {"pytest": 0}),
        ("go test ./... passes", {"go test ./...": 0}),
        ("all tests in tests/auth pass and ruff check is clean", {"ruff check": 0}),
        ("Find out why `make` passes on Windows", {}),
        ("Fix what `pytest` passes to the plugin", {}),
        ("`pytest` does not pass", {}),
        ("`add(2, 3)` returns 5", {}),
        ("`foo` passes the value to bar", {}),
        ("the tests pass in `tests/`", {}),
        ("make tests pass", {}),
        ("It just works, and the reader passes from cause to effect", {}),
    ],
)
def test_commands_that_a_text_says_pass(text: str, commands: dict[str, int]) -> None:
    assert {one.command: one.exit_code for one in stated_commands(text)} == commands


@each_row(
    "text, files",
    [
        ("`src/x.py` exists", ("src/x.py",)),
        ("src/x.py exists and is short", ("src/x.py",)),
        ("Create mathx.py with an add(a, b) function", ("mathx.py",)),
        ("Write a summary to out/summary.txt", ("out/summary.txt",)),
        ("fix the bug in `src/`", ("src/",)),
        ("the README.md documents it, and `docs/*.md` are complete", ("README.md", "docs/*.md")),
        ("The answer mentions `setup.py`", ()),
        ("Explain what main.py does", ()),
        ("Write an essay about Node.js", ()),
        ("Version 1.2.3 of foo.bar() is explained, e.g. in words", ()),
        ("https://example.com/index.html is quoted", ()),
    ],
)
def test_files_that_a_text_names(text: str, files: tuple[str, ...]) -> None:
    found = stated_files(text)
    assert tuple(dict.fromkeys(found)) == files

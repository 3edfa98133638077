"""What a person is likely to want, as they would say it."""

from __future__ import annotations

from pathlib import Path

from donewhen.goalfile.objectives import (
    Problem,
    Seen,
    ShownTest,
    branch_of,
    from_branch,
    from_clipboard,
    from_selection,
    from_todo,
    likely,
)
from tests.tools import each_row


@each_row(
    "name, wanted",
    [
        ("fix/quotes-in-csv", "Fix quotes in csv"),
        ("feature/1234-csv-export", "Csv export"),
        ("PROJ-77-handle-newlines", "Handle newlines"),
        ("anna/add_dark_mode", "Add dark mode"),
        ("fix/fix-login-loop", "Fix login loop"),
        ("main", None),
        ("feature/1234", None),
        ("release/2.4.1", None),
        ("wip", None),
        ("", None),
    ],
)
def test_the_name_of_a_branch_says_what_it_is_about(name: str, wanted: str | None) -> None:
    assert from_branch(name) == wanted


@each_row(
    "line, wanted",
    [
        ("    # TODO: quote fields with newlines", "Quote fields with newlines"),
        ("  // FIXME(anna) - the cache is never emptied", "The cache is never emptied"),
        ("/* TODO handle an empty file */", "Handle an empty file"),
        ("todo_list = []", None),
        ("# TODO", None),
    ],
)
def test_a_comment_says_what_is_still_to_be_done(line: str, wanted: str | None) -> None:
    assert from_todo(line) == wanted


@each_row(
    "text, wanted",
    [
        ("# Export must handle quotes\n# and newlines", "Export must handle quotes\nand newlines"),
        ("Fields with commas are quoted", "Fields with commas are quoted"),
        ("def add(a, b):\n    return a - b", None),
        ("total", None),
        ("x = compute(a, b)", None),
        ("", None),
    ],
)
def test_selected_words_are_wanted_and_code_is_not(text: str, wanted: str | None) -> None:
    assert from_selection(text) == wanted


@each_row(
    "text, wanted",
    [
        ("## Export breaks on quotes\n\nSteps: open a file.", "Export breaks on quotes\n\nSteps: open a file."),
        ("CSV export should quote newlines", "CSV export should quote newlines"),
        ("see you at nine", None),
        ("https://example.org/issues/12", None),
        ("sk-ant-0123456789", None),
        ('{"name": "some thing here", "fix": true}', None),
        ("const fixed = add(1, 2);\nreturn fixed;", None),
    ],
)
def test_of_the_clipboard_an_issue_is_wanted_alone(text: str, wanted: str | None) -> None:
    assert from_clipboard(text) == wanted


def test_the_branch_is_read_in_a_worktree_too(tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/fix/quotes\n")
    folder = tmp_path / "worktree"
    folder.mkdir()
    assert branch_of(folder) == ""
    (folder / ".git").write_text(f"gitdir: {git}\n")
    assert branch_of(folder) == "fix/quotes"
    (git / "HEAD").write_text("24f0316aa\n")
    assert branch_of(folder) == ""


def test_the_most_particular_comes_first_and_each_once(tmp_path: Path) -> None:
    seen = Seen(
        selection="Fields with commas are quoted",
        line="# TODO: quote fields",
        clipboard="Fields with commas are quoted",
        problems=[Problem("a.py", 2, "undefined name 'x'\nmore")],
    )
    assert [one.objective for one in likely(seen, tmp_path)] == [
        "Fields with commas are quoted",
        "Quote fields",
        "Fix a.py:3: undefined name 'x'",
    ]


def test_a_problem_is_decided_by_what_problems_says_of_its_file_and_no_other(tmp_path: Path) -> None:
    (one,) = likely(Seen(problem=Problem("app/[id]/*.ts", 0, "Type 'x' is wrong\nbecause")), tmp_path)
    assert one.objective == "Fix in app/[id]/*.ts: Type 'x' is wrong"
    assert one.requirements == ("No errors in Problems for `app/[[]id]/[*].ts`",)
    (ticked,) = likely(Seen(problem=Problem("a`b.ts", 0, "x" * 500)), tmp_path)
    assert ticked.requirements == ("No errors in Problems for ``a`b.ts``",)
    assert len(ticked.objective) < 150


@each_row(
    "test, checks",
    [
        (
            ShownTest("test_add", "/w/tests/test_calc.py::TestSum::test_add", "tests/test_calc.py", ""),
            ("python -m pytest -q tests/test_calc.py::TestSum::test_add",),
        ),
        (ShownTest("t", "test_x.py::test_y[a b]", "test_x.py", ""), ("python -m pytest -q 'test_x.py::test_y[a b]'",)),
        (ShownTest("adds", "src/a.test.ts/adds", "src/a.test.ts", ""), ()),
        (ShownTest("all", "test_x.py", "test_x.py", ""), ()),
        (ShownTest("folder", "tests", None, ""), ()),
    ],
)
def test_a_test_decides_alone_where_its_id_says_how_it_runs(
    test: ShownTest, checks: tuple[str, ...], tmp_path: Path
) -> None:
    (one,) = likely(Seen(test=test), tmp_path)
    assert one.checks == checks
    assert one.objective == f"Make {test.name} pass"

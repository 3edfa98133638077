"""Hints that need no model."""

from __future__ import annotations

import pytest

from donewhen.goalfile.parse import parse
from donewhen.goalfile.preflight import hints_of
from tests.goalfile.test_parse import cut
from tests.tools import each_row


def codes(text: str) -> list[str]:
    return [problem.code for problem in parse(text).problems]


@each_row(
    "statement, code",
    [
        ("The export works well", "vague"),
        ("The export is fast", "vague"),
        ("The code is clean", "vague"),
        ("Clean code everywhere in here", "vague"),
        ("The dialog is user-friendly for all", "vague"),
        ("Errors are handled gracefully everywhere", "vague"),
        ("Quotes, commas, etc. are handled", "vague"),
        ("The tests are improved by this", "vague"),
        ("Follow best practices in `src`", "vague"),
        ("Tests", "too-short"),
        ("Quotes work", "too-short"),
        ("Fields with commas or quotes are quoted", "no-evidence"),
    ],
)
def test_hints(statement: str, code: str) -> None:
    parsed = parse(f"# T\n\n- [ ] {statement}\n")
    (problem,) = parsed.problems
    assert (problem.severity, problem.code, cut(parsed, problem.span)) == ("hint", code, statement)
    assert parsed.goal is not None


@each_row(
    "statement",
    [
        "`pytest -q` should pass", "`pytest -q` works", "`pytest -q` passes on Windows", "`a` passes and `b` passes",
        "`a` passes!", "`a` returns 0", "check: `pytest -q`",
    ],
)  # fmt: skip
def test_a_command_that_decides_nothing_gets_a_warning(statement: str) -> None:
    parsed = parse(f"- [ ] {statement}")
    (problem,) = parsed.problems
    assert (problem.severity, problem.code) == ("warning", "almost-check")
    assert parsed.outline[0].checks == ()


@each_row(
    "item",
    [
        "`pytest -q` passes",
        "The README documents `--csv`",
        "Fields with commas are quoted\n  - file: `src/a.py`",
        "Fields with commas are quoted\n  - problems: `src/**`",
        "The export works well\n  - check: `pytest`",
        "An export of 10,000 rows is fast: below 2 s on `bench.py`",
        "引用符を含むフィールドは正しく出力される `src/a.py`",
    ],
)
def test_what_can_be_proven_gets_no_hint(item: str) -> None:
    assert codes(f"# T\n\n- [ ] {item}\n") == []


@each_row(
    "command",
    [
        "pytest || true", "pytest; true", "pytest ; exit 0", "pytest | tee log", "ruff check --exit-zero .",
        "jest --passWithNoTests", "pytest --collect-only", "pytest --co", "pytest --version", "# pytest -q",
    ],
)  # fmt: skip
@pytest.mark.conformance("A10")
def test_a_check_that_cannot_fail_gets_a_warning(command: str) -> None:
    for text in (f"- [ ] `{command}` passes", f"- [ ] Quoted\n  - check: `{command}`"):
        parsed = parse(text)
        (problem,) = parsed.problems
        assert (problem.severity, problem.code, cut(parsed, problem.span)) == ("warning", "exit-masked", command)


@each_row("command", ["pytest -q", "a || b", "test -f true", "cd x; pytest", "grep -c a b | grep 3"])
def test_other_commands_get_none(command: str) -> None:
    assert codes(f"- [ ] `{command}` passes") == []


def test_a_repeated_requirement_is_pointed_out() -> None:
    parsed = parse("- [ ] `a` passes\n- [ ] `a` passes\n")
    assert [(p.code, p.span.start_line) for p in parsed.problems] == [("duplicate-requirement", 1)]
    assert "R1" in parsed.problems[0].message


def test_a_goal_without_requirements_says_how_to_get_some() -> None:
    (problem,) = parse("# Exports of all kinds are quoted\n").problems
    assert (problem.code, problem.severity) == ("no-evidence", "hint")
    assert "- [ ]" in problem.message


def test_hints_name_their_requirement() -> None:
    text = "---\nmax_iterations: unlimited\n---\n# T\n\n- [ ] `make` passes\n- [ ] It works well\n"
    parsed = parse(text)
    goal, vague = hints_of(parsed)
    assert (goal.requirement_id, goal.number, goal.line) == (None, None, 1)
    assert "unlimited" in goal.message
    assert (vague.requirement_id, vague.number, vague.line) == (parsed.requirements[1].id, 2, 6)
    assert "works well" in vague.message


def test_errors_are_no_hints() -> None:
    assert hints_of(parse("---\nmax_iterations: 0\n---\n# T\n\n- [ ] `make` passes\n")) == ()

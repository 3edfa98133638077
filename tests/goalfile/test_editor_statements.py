"""Sentences that the editor's own diagnostics decide."""

from __future__ import annotations

from donewhen.engine.watching import named_globs
from donewhen.goalfile.parse import parse
from tests.goalfile.test_parse import cut, goal_of, only
from tests.tools import each_row


@each_row(
    "statement, globs",
    [
        ("No errors in Problems", ("**",)),
        ("no errors in Problems.", ("**",)),
        ("There are no errors in the Problems panel", ("**",)),
        ("No error left in the problems view", ("**",)),
        ("The Problems panel shows no errors", ("**",)),
        ("The editor reports no errors", ("**",)),
        ("No errors in Problems for `src/**`", ("src/**",)),
        ("The editor shows no errors in `src/**`, `lib/*.ts` and `a.ts`", ("src/**", "lib/*.ts", "a.ts")),
    ],
)
def test_no_errors_in_problems_is_decided_by_the_editor_alone(statement: str, globs: tuple[str, ...]) -> None:
    requirement = only(f"# T\n\n- [ ] {statement}\n")
    assert (requirement.problems, requirement.sole_check, requirement.checks) == (globs, True, ())
    assert not parse(f"# T\n\n- [ ] {statement}\n").problems


@each_row(
    "statement",
    [
        "No errors in production",
        "No errors in problems 1 to 5",
        "No errors in `app.log` after a day",
        "No errors in Problems after a reload of the window",
        "No errors in Problems for `src/**` on Windows",
        "The editor shows no errors to visitors",
    ],
)
def test_other_sentences_are_left_to_the_judge(statement: str) -> None:
    requirement = only(f"# T\n\n- [ ] {statement}\n")
    assert (requirement.problems, requirement.sole_check) == ((), False)


@each_row(
    "statement",
    ["No problems in `src/**` at all", "No warnings in Problems", "No errors in src/**", "The Problems panel is empty"],
)
def test_a_sentence_that_comes_near_is_told_how_to_say_it(statement: str) -> None:
    parsed = parse(f"# T\n\n- [ ] {statement}\n")
    (problem,) = parsed.problems
    assert (problem.severity, problem.code, cut(parsed, problem.span)) == ("hint", "almost-problems", statement)
    assert "`problems:`" in problem.message


def test_nested_files_are_what_the_sentence_is_about() -> None:
    requirement = only("# T\n\n- [ ] No errors in Problems\n  - problems: `src/**`\n  - check: `make`\n")
    assert (requirement.problems, requirement.sole_check) == (("src/**",), True)
    assert [check.command for check in requirement.checks] == ["make"]


def test_a_bad_glob_in_the_sentence_is_an_error() -> None:
    (problem,) = parse("# T\n\n- [ ] No errors in Problems for `../**`\n").errors
    assert problem.code == "bad-glob"


def test_everything_that_the_editor_shows_is_not_everything_that_git_ignores() -> None:
    goal = goal_of("# T\n\n- [ ] No errors in Problems\n- [ ] x y z\n  - problems: `*.py`, `gen/**`\n  - file: `a*`\n")
    assert named_globs(goal) == ("GOAL.md", "a*", "gen/**")

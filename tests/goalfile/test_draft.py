"""Drafts of goal files: what goes in comes back out when they are parsed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.core.errors import InvalidGoal
from donewhen.goalfile.draft import GREEN, draft, draft_notes, draft_path, draft_without_objective, slug
from donewhen.goalfile.parse import parse
from donewhen.goalfile.statements import one_line
from donewhen.goalfile.survey import FoundCheck, Survey
from tests.tools import each_row


def test_a_draft_holds_objective_checks_and_requirements() -> None:
    text = draft("Ship the exporter", ["python -m pytest -q", "ruff check ."], ["Fields are quoted"])
    assert text == (
        "# Ship the exporter\n\n"
        "- [ ] `python -m pytest -q` passes\n- [ ] `ruff check .` passes\n- [ ] Fields are quoted\n"
    )


def test_without_requirements_the_objective_is_one_so_that_passing_checks_do_not_end_the_run() -> None:
    goal = parse(draft("Ship the exporter", ["pytest"])).goal
    assert goal is not None
    assert [(r.text, r.sole_check) for r in goal.requirements] == [
        ("`pytest` passes", True),
        ("Ship the exporter", False),
    ]


@pytest.mark.parametrize("objective", ["Ship the --> exporter", "Ship it\n```\nopen fence"])
@pytest.mark.parametrize("checks", [["pytest"], []])
@pytest.mark.parametrize("judged", [True, False])
def test_a_draft_holds_the_goal_alone(objective: str, checks: list[str], judged: bool) -> None:
    text = draft(objective, checks, ["Fields are quoted"], judged=judged, proposed_by="openai/m")
    assert "<!--" not in text
    assert parse(text).title == objective.splitlines()[0]


PASSING = Survey((FoundCheck("pytest", "found", drafted=True, standing="green", reason="1 test passed"),))
PASSED = "green: `pytest`: 1 test passed"
WORDS = "no judge is set: the checks decide when it is done, not the words of the objective"
FILL_IN = "no check was drafted: write the command that shows that it is done, after `check:`"


@pytest.mark.parametrize(
    ("objective", "found", "judged", "proposed", "boxes", "notes"),
    [
        ("Ship it", PASSING, False, (), ["`pytest` passes"], (PASSED, WORDS, GREEN)),
        ("Ship it", PASSING, True, (), ["`pytest` passes", "Ship it"], (PASSED,)),
        ("Ship it", PASSING, True, ("A",), ["`pytest` passes", "A"], (PASSED, "proposed by openai/m: A")),
        ("Ship it", PASSING, False, ("A",), ["`pytest` passes"],
         (PASSED, "proposed by openai/m, left out, since no judge is set: A", WORDS, GREEN)),
        ("Ship it\n- [ ] A", PASSING, False, (), ["A", "`pytest` passes"], (PASSED,)),
        ("Ship until `make all` passes", Survey(), False, (), ["`make all` passes"], (WORDS,)),
        ("Ship it", Survey(), False, (), ["Ship it"], (FILL_IN,)),
        ("Ship it", Survey(), False, ("A",), ["Ship it"],
         ("proposed by openai/m, left out, since no judge is set: A", FILL_IN)),
        ("Ship it", Survey((FoundCheck("tox", "tox.ini", left_out="no"),)), True, (), ["Ship it"],
         ("not drafted: `tox` (tox.ini): no",)),
    ],
)  # fmt: skip
def test_what_is_told_about_a_draft(
    objective: str, found: Survey, judged: bool, proposed: tuple[str, ...], boxes: list[str], notes: tuple[str, ...]
) -> None:
    by = "openai/m" if proposed else None
    text = draft(objective, found.commands, proposed, judged=judged, proposed_by=by)
    assert [one.text for one in parse(text).outline] == boxes
    assert draft_notes(text, found, judged=judged, proposed_by=by, requirements=proposed) == notes


@pytest.mark.parametrize("objective", ["Ship the exporter", "Ship it\n```\nopen fence"])
def test_without_a_check_and_a_judge_there_is_one_to_be_filled_in(objective: str) -> None:
    text = draft(objective, [], judged=False)
    parsed = parse(text)
    assert parsed.goal is None  # so that no run starts that could only be waived
    assert [one.code for one in parsed.errors] == ["empty-check"]
    filled = parse(text.replace("- check:", "- check: `pytest`")).goal
    assert filled is not None
    assert [(r.text, [c.command for c in r.checks]) for r in filled.requirements] == [(filled.title, ["pytest"])]
    goal = parse(draft(objective, [])).goal
    assert goal is not None
    assert [r.text for r in goal.requirements] == [goal.title]


def test_the_worker_is_named_in_front_matter() -> None:
    goal = parse(draft("Ship it", ["pytest"], worker="command")).goal
    assert goal is not None
    assert goal.worker == "command"


def test_markdown_in_the_objective_is_kept() -> None:
    goal = parse(draft("Ship it\n\nBecause:\n- users wait\n- [ ] Fields are quoted\n", ["pytest"])).goal
    assert goal is not None
    assert goal.objective == "Because:\n- users wait"
    assert {r.text for r in goal.requirements} == {"Fields are quoted", "`pytest` passes"}


@each_row("prose", ["```\nopen fence", "<!-- open comment", "<pre>\nopen", "    code", "---\na: b", "- list"])
def test_markdown_that_is_left_open_swallows_nothing(prose: str) -> None:
    goal = parse(draft(f"Ship it\n{prose}", ["pytest"], ["Fields are quoted"])).goal
    assert goal is not None
    assert [r.text for r in goal.requirements] == ["`pytest` passes", "Fields are quoted"]
    assert goal.title == "Ship it"


def test_a_long_objective_gets_a_short_title_and_stays_whole() -> None:
    objective = "Fix the exporter. " + "It must handle every kind of quote that a spreadsheet knows " * 5
    goal = parse(draft(objective, ["pytest"])).goal
    assert goal is not None
    assert goal.title == "Fix the exporter."
    assert one_line(goal.objective) == one_line(objective)
    assert len(parse(draft("word " * 100, [])).title) <= 100


@each_row("objective", ["", "  \n ", "#", "\x00"])
@pytest.mark.conformance("C1")
def test_a_blank_objective_is_refused(objective: str) -> None:
    with pytest.raises(InvalidGoal, match="objective"):
        draft(objective, [])


sentences = st.text(max_size=60)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(sentences, st.lists(sentences, max_size=3), st.lists(sentences, max_size=3))
def test_every_draft_parses_back(objective: str, checks: list[str], requirements: list[str]) -> None:
    try:
        text = draft(objective, checks, requirements)
    except InvalidGoal:
        return
    goal = parse(text).goal
    assert goal is not None
    assert 1 <= len(goal.requirements) <= len(checks) + max(len(requirements), 1)
    usable = {one_line(check) for check in checks if check.isprintable() and check.strip(" `")}
    assert usable <= {check.command for check in goal.checks}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.text("abc #*_`>-[]()<!&|1.+=~:\n", max_size=40),
    st.lists(st.text("pytest -q`$|&'\"", min_size=1).filter(lambda text: text.strip(" `")), min_size=1, max_size=3),
    st.lists(st.text("ab #`>-[]x:*", min_size=1).map(lambda text: f"It {text}"), min_size=1, max_size=3),
)
def test_drafts_of_markdown_parse_back(objective: str, checks: list[str], requirements: list[str]) -> None:
    try:
        goal = parse(draft(objective, checks, requirements)).goal
    except InvalidGoal:
        return
    assert goal is not None
    assert {one_line(check) for check in checks} <= {check.command for check in goal.checks}
    assert {one_line(text) for text in requirements} <= {r.text for r in goal.requirements}


@each_row(
    "objective, expected",
    [
        ("Export must handle quotes, and newlines!", "export-must-handle-quotes-and-newlines"),
        ("Don't fail", "dont-fail"), ("Größe prüfen", "groe-prufen"), ("表", "goal"), ("", "goal"), ("nul", "goal-nul"),
        ("../../etc/passwd", "etc-passwd"), ("x" * 100, "x" * 48),
    ],
)  # fmt: skip
def test_slugs(objective: str, expected: str) -> None:
    assert slug(objective) == expected


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text())
def test_a_slug_is_always_a_safe_file_name(objective: str) -> None:
    assert slug(objective).replace("-", "").isalnum()
    assert slug(objective).isascii()
    assert len(slug(objective)) <= 60


def test_a_draft_never_goes_to_an_existing_file(tmp_path: Path) -> None:
    expected = ["GOAL.md", "ship-it.goal.md", "ship-it-2.goal.md", "ship-it-3.goal.md"]
    for name in expected:
        path = draft_path(tmp_path, "Ship it")
        assert path == tmp_path / name
        path.touch()


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_dangling_link_is_no_free_name(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").symlink_to(tmp_path / "elsewhere")
    assert draft_path(tmp_path, "Ship it").name == "ship-it.goal.md"


@pytest.mark.parametrize("checks", [["python -m pytest -q", "ruff check ."], []])
def test_without_an_objective_the_checks_are_the_goal(checks: list[str]) -> None:
    goal = parse(draft_without_objective("my [app] `x`", checks), path="GOAL.md").goal
    assert ([] if goal is None else [check.command for check in goal.checks]) == checks


@each_row(
    "objective, commands",
    [
        ("Add x. The goal is complete only when `python -m pytest -q` passes.", ["python -m pytest -q"]),
        ("Make `npm test` and `npm run lint` pass", ["npm test", "npm run lint"]),
        ("Ship it\n\n`ruff check .` is clean, and the docs are complete", ["ruff check ."]),
        ("Ship it\n\n- [ ] `pytest` passes\n- [ ] It is told", ["pytest"]),
        ("`pytest` passes", ["pytest"]),
        ("Go on until `a`, `b`, and `c` all succeed: then stop", ["a", "b", "c"]),
        ("Find out why `make` passes on Windows", []),
        ("Fix what `pytest` passes to the plugin", []),
        ("`pytest` does not pass", []),
    ],
)
def test_commands_of_which_the_objective_says_that_they_pass_are_bound(objective: str, commands: list[str]) -> None:
    goal = parse(draft(objective, [])).goal
    assert goal is not None
    assert [check.command for check in goal.checks] == commands


def test_a_long_row_of_commands_is_read_at_once() -> None:
    assert parse(draft("`a` and " * 5_000, ["pytest"])).goal is not None

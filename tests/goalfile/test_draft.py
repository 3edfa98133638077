"""Drafts of goal files: what goes in comes back out when they are parsed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.core.errors import InvalidGoal
from donewhen.goalfile.draft import draft, draft_path, draft_without_objective, slug
from donewhen.goalfile.parse import parse
from donewhen.goalfile.statements import one_line
from tests.tools import examples


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


def test_without_a_judge_the_checks_prove_the_objective_and_its_words_are_a_comment() -> None:
    text = draft("Ship the --> exporter", ["pytest"], judged=False)
    parsed = parse(text)
    assert parsed.goal is not None
    assert [(r.text, r.sole_check) for r in parsed.goal.requirements] == [("`pytest` passes", True)]
    assert (parsed.title, parsed.goal.objective) == ("Ship the --> exporter", draft_objective("Ship the --> exporter"))
    assert "Add a check that fails until it is done" in text
    assert "choose a judge" in text
    assert "- [ ] Ship the -- > exporter\n-->" in text
    assert "pass already" not in text
    green = draft("Ship it", ["pytest"], judged=False, green=True)
    assert "pass already: a run that starts now completes at once" in green


def draft_objective(objective: str) -> str:
    goal = parse(draft(objective, ["pytest"])).goal
    assert goal is not None
    return goal.objective


def test_without_a_judge_what_is_told_is_no_comment() -> None:
    goal = parse(draft("Ship until `make all` passes", [], judged=False)).goal
    assert goal is not None
    assert [r.text for r in goal.requirements] == ["`make all` passes"]
    boxed = parse(draft("Ship it\n- [ ] Fields are quoted", ["pytest"], judged=False)).goal
    assert boxed is not None
    assert {r.text for r in boxed.requirements} == {"`pytest` passes", "Fields are quoted"}
    asked = draft("Ship it", ["pytest"], ["Fields are quoted"], judged=False)
    assert asked == "# Ship it\n\n- [ ] `pytest` passes\n- [ ] Fields are quoted\n"


def test_without_a_judge_what_a_model_proposes_is_suggested() -> None:
    text = draft("Ship it", ["pytest"], ["Fields are quoted"], judged=False, proposed_by="openai/m")
    goal = parse(text).goal
    assert goal is not None
    assert [r.text for r in goal.requirements] == ["`pytest` passes"]
    assert "and add:\n- [ ] Fields are quoted\n-->" in text
    unchecked = draft("Ship it", [], ["Fields are quoted"], judged=False, proposed_by="openai/m")
    assert "- [ ] Ship it\n  - check:\n" in unchecked
    assert "Proposed by openai/m:\n- [ ] Fields are quoted\n-->" in unchecked


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


@pytest.mark.parametrize(
    "prose", ["```\nopen fence", "<!-- open comment", "<pre>\nopen", "    code", "---\na: b", "- list"]
)
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


@pytest.mark.parametrize("objective", ["", "  \n ", "#", "\x00"])
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


@pytest.mark.parametrize(
    ("objective", "expected"),
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


def test_what_a_model_proposed_is_marked_so() -> None:
    text = draft("Ship the exporter", ["pytest"], ["Fields are quoted", "The README tells it"], proposed_by="openai/m")
    assert text == (
        "# Ship the exporter\n\n- [ ] `pytest` passes\n\n"
        "<!-- Proposed by openai/m: edit them, or take them out. What stays has to be proven. -->\n\n"
        "- [ ] Fields are quoted\n- [ ] The README tells it\n"
    )
    goal = parse(text).goal
    assert goal is not None
    assert [one.text for one in goal.requirements] == ["`pytest` passes", "Fields are quoted", "The README tells it"]
    assert goal.objective == parse(draft("Ship the exporter", ["pytest"])).objective


def test_without_proposals_there_is_no_mark() -> None:
    assert draft("Ship it", ["pytest"], [], proposed_by="openai/m") == draft("Ship it", ["pytest"])


@given(st.text(max_size=30).filter(str.strip), st.lists(st.text(max_size=30), min_size=1, max_size=3))
@examples(50, suppress_health_check=[HealthCheck.too_slow])
def test_every_proposal_parses_back(model: str, requirements: list[str]) -> None:
    goal = parse(draft("Ship it", ["pytest"], requirements, proposed_by=model)).goal
    assert goal is not None
    assert goal.checks[0].command == "pytest"


@pytest.mark.parametrize(
    ("objective", "commands"),
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

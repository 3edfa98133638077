"""Edits of a goal file that a button asks for: what was there stays, and what is added is read."""

from __future__ import annotations

import pytest

from donewhen.core.errors import InvalidGoal
from donewhen.goalfile.amend import Edit, add_check, name_judge
from donewhen.goalfile.parse import parse
from tests.tools import each_row

GOAL = "# T\n\n- [ ] It is nice\n  - file: `a.py`\n- [ ] `make` passes\n"


def edited(text: str, edit: Edit) -> str:
    lines = text.splitlines(keepends=True)
    span = edit.span
    before = (
        "".join(lines[: span.start_line]) + "".join(lines[span.start_line : span.start_line + 1])[: span.start_column]
    )
    after = "".join(lines[span.end_line : span.end_line + 1])[span.end_column :] + "".join(lines[span.end_line + 1 :])
    return before + edit.text + after


@each_row("text", [GOAL, "# T\n\n1. [ ] It is nice", "---\nworker: human\n---\n# T\n\n* [ ] It is nice\n"])
@each_row("command", ["pytest -q", "echo `x`"])
def test_a_check_is_bound_to_its_requirement(text: str, command: str) -> None:
    goal = parse(edited(text, add_check(parse(text), "R1", command))).goal
    assert goal is not None
    assert [check.command for check in goal.requirements[0].checks] == [command]
    assert goal.requirements[0].files == (("a.py",) if text == GOAL else ())


def test_the_objective_that_is_the_requirement_gets_a_box() -> None:
    text = "# Ship it\n\nSoon."
    goal = parse(edited(text, add_check(parse(text), "R1", "make"))).goal
    assert goal is not None
    assert [check.command for check in goal.checks] == ["make"]


def test_a_check_without_a_requirement_is_one_and_a_blank_one_is_filled_in() -> None:
    goal = parse(edited(GOAL, add_check(parse(GOAL), None, "make all"))).goal
    assert goal is not None
    assert goal.requirements[-1].text == "`make all` passes"
    assert "- [ ] It is nice\n  - check:\n" in edited(GOAL, add_check(parse(GOAL), parse(GOAL).requirements[0].id, ""))
    with pytest.raises(InvalidGoal, match="R9"):
        add_check(parse(GOAL), "R9", "make")


@pytest.mark.parametrize("front", ["", "---\nworker: human\n---\n", "---\njudge_model: openai/old\n---\n"])
def test_the_judge_stands_in_front_matter(front: str) -> None:
    goal = parse(edited(front + GOAL, name_judge(parse(front + GOAL), "openai/new"))).goal
    assert goal is not None
    assert goal.judge_model == "openai/new"
    assert (goal.worker == "human") is ("worker" in front)
    with pytest.raises(InvalidGoal, match="judge_model"):
        name_judge(parse(GOAL), "no model at all")

"""Why a check is not met, on every surface that shows it."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from donewhen.cli.display import standing
from donewhen.cli.progress import Log
from donewhen.cli.record_commands import status_lines
from donewhen.core.evidence import Problem, first_problems, reason_text
from donewhen.core.feedback import feedback_text
from donewhen.core.proof import unmet_signature
from donewhen.wire.reports.junit import render as junit
from donewhen.wire.reports.markdown import render as markdown
from donewhen.wire.snapshot import snapshot
from tests.cli.fakes import view_of
from tests.core.builders import Story, failing, goal, requirement

COMMAND = "ruff check ."
PROBLEMS = tuple(Problem(f"app{n}.py", n, f"`m{n}` is unused (F401)", source="ruff") for n in range(7))


def story(problems: tuple[Problem, ...] = PROBLEMS, text: str = "exit code 1") -> Story:
    result = failing(COMMAND, reason_text(text, *first_problems((), problems), "install it"))
    return Story(goal(requirement(1, "it is clean", COMMAND, sole=True))).audit(replace(result, problems=problems))


def test_the_first_three_problems_and_the_hint_are_shown_everywhere(tmp_path: Path) -> None:
    view = view_of(story().state)
    first = [f"app{n}.py:{n + 1}: `m{n}` is unused (F401)" for n in range(3)]
    lines = ["exit code 1", *first, "and 4 more", "hint: install it"]
    console = Console(record=True, width=200, file=StringIO())
    console.print(standing(view))
    shown = {
        "check": "\n".join(Log().lines(view)),
        "live": console.export_text(),
        "status": "\n".join(status_lines(view)),
        "feedback": feedback_text(view.state.goal, view.views, {view.views[0].requirement_id: PROBLEMS}),
        "junit": junit(view, tmp_path, {}),
        "markdown": markdown(view, tmp_path, {}),
        "snapshot": json.dumps(snapshot(view, tmp_path).model_dump(mode="json")),
    }
    for where, text in shown.items():
        assert [line for line in lines if line not in text] == [], where
    for where in ("check", "status", "live"):
        own = [line.strip().removesuffix(" [E1]") for line in shown[where].splitlines()]
        assert own[own.index(lines[1]) :][:5] == lines[1:], where
    assert shown["feedback"].count(first[0]) == 1


def test_what_is_shown_is_bounded() -> None:
    long = tuple(replace(one, message="x\n" * 9 + "y" * 5_000) for one in PROBLEMS)
    [one] = view_of(story(long).state).views
    assert len(one.reason) < 1_000


def test_a_message_that_differs_each_time_hides_no_stall() -> None:
    first = story(text="exit code 1: object at 0x7f01").state
    second = story(text="exit code 1: object at 0x7f02").state
    assert unmet_signature(first) == unmet_signature(second)
    assert unmet_signature(first) != unmet_signature(story(PROBLEMS[1:]).state)

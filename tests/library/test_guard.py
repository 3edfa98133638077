"""A word is believed at no door: what names a command that passes, or a file, needs a workspace, and is run there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen import (
    AuditTask,
    Check,
    Goal,
    InvalidGoal,
    Requirement,
    judge_goal,
    run_goal,
)
from donewhen.core.evidence import CheckResult, ObservedResponse, Outcome
from tests.tools import each_row

TEXTS = [
    "`python -m pytest -q` passes",
    "Add the option. All tests pass with `npm test`",
    "- [ ] it is fast\n  - check: `make bench`",
    "cargo test succeeds",
    "`src/x.py` exists",
    "Create mathx.py with an add(a, b) function",
]


def yes(task: AuditTask) -> bool:
    return True


def liar(prompt: str) -> str:
    return "All tests pass."


def through_run_goal(text: str) -> Any:
    return run_goal(text, liar, yes)


def through_a_goal(text: str) -> Any:
    return run_goal(Goal("T", "", (Requirement("r-1", 1, text),)), liar, yes)


@each_row("text", TEXTS)
@each_row("door", [through_run_goal, through_a_goal])
def test_without_a_workspace_it_is_refused_when_it_is_made(door: Callable[[str], Any], text: str) -> None:
    with pytest.raises(InvalidGoal, match=r"workspace=FOLDER"):
        door(text)


def test_what_only_the_answer_is_to_say_needs_none() -> None:
    for text in ("The answer explains what `setup.py` is for", "Explain rainbows to a child"):
        assert run_goal(text, liar, yes).status == "complete"


def red(folder: Path) -> Path:
    (folder / "test_it.py").write_text("from it import ok\n\n\ndef test_ok():\n    assert ok()\n")
    return folder


def builder(folder: Path) -> Callable[[str], str]:
    """Lies first, and works once it is told what failed."""

    def worker(prompt: str) -> str:
        if "No module named 'it'" in prompt:
            (folder / "it.py").write_text("def ok():\n    return True\n")
        return "All tests pass."

    return worker


@pytest.mark.slow
def test_a_goal_in_python_that_says_it_in_words_has_the_command_bound(tmp_path: Path) -> None:
    goal = Goal("T", "", (Requirement("r-1", 1, "It works, and `python -m pytest -q` passes"),))
    outcome = run_goal(goal, liar, yes, workspace=red(tmp_path), max_iterations=1, durable=False)
    assert outcome.status == "capped"
    assert [one.text for one in outcome.requirements][-1] == "`python -m pytest -q` passes"


def test_a_judge_alone_proves_no_command_by_what_was_said() -> None:
    text = "`python -m pytest -q` passes"
    said = judge_goal(yes, text, messages=[{"role": "assistant", "content": "All tests pass"}])
    assert (said.complete, said.missing) == (False, "`python -m pytest -q` has no result here: give one as evidence")
    with pytest.raises(ValueError, match="a response proves nothing about a workspace"):
        judge_goal(yes, text, [ObservedResponse("d", "All tests pass", 14)])
    check = Check.of("python -m pytest -q")
    ran = CheckResult(check.id, check.command, Outcome.PASSED, "exit code 0", 0)
    assert judge_goal(yes, text, [ran]).complete

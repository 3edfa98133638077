"""A word is believed at no door of a look-alike: a command that is named needs a workspace, and is run there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen import (
    GoalLoop,
    GoalMiddleware,
    InvalidGoal,
)
from tests.library.test_guard import TEXTS, builder, liar, yes
from tests.tools import each_row


def through_the_loop(text: str) -> Any:
    return GoalLoop(text, judge=yes)


def through_the_middleware(text: str) -> Any:
    return asyncio.run(GoalMiddleware(yes).attach(liar).prompt(f"/goal {text}"))


@each_row("text", TEXTS)
@each_row("door", [through_the_loop, through_the_middleware])
def test_without_a_workspace_it_is_refused_when_it_is_made(door: Callable[[str], Any], text: str) -> None:
    with pytest.raises(InvalidGoal, match=r"workspace=FOLDER"):
        door(text)


def test_what_only_the_answer_is_to_say_needs_none() -> None:
    for text in ("The answer explains what `setup.py` is for", "Explain rainbows to a child"):
        GoalLoop(text, judge=yes)


@pytest.mark.parametrize("judge", [yes, pytest.param(None, marks=pytest.mark.slow)])
def test_a_loop_with_a_workspace_runs_the_command_itself(tmp_path: Path, judge: Any) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "check.py").write_text("from it import ok\n\nassert ok()\n")
    loop = GoalLoop(
        "`python -S check.py` passes", judge=judge, workspace=folder, state_dir=tmp_path / "state", max_attempts=3
    )
    liar_s = loop.attach(lambda prompt: "All tests pass.")
    assert liar_s("Make it work") == "All tests pass."
    result = loop.last_result(liar_s)
    assert result is not None
    assert (result.stop_reason, len(result.attempts)) == ("max_attempts", 3)

    worker = loop.attach(builder(folder))
    worker("Make it work")
    result = loop.last_result(worker)
    assert result is not None
    assert (result.stop_reason, len(result.attempts)) == ("satisfied", 2)

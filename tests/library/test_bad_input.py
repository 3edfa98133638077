"""What a caller gets wrong is refused by the name of the argument, before anything starts; nothing is a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from donewhen import GoalMiddleware, resume_goal, run_goal
from donewhen.core.errors import UnknownRun


def echo(prompt: str) -> str:
    return "an answer"


def test_a_retry_prompt_about_a_response_speaks_of_no_workspace():
    told: list[str] = []

    def worker(prompt: str) -> str:
        told.append(prompt)
        return f"answer {len(told)}"

    run_goal("Answer", worker, lambda task: len(told) > 1)
    assert "Keep the whole objective in view" in told[1]
    assert "workspace" not in told[1]


def test_a_folder_without_runs_is_named(tmp_path: Path):
    with pytest.raises(UnknownRun, match="there is no run to resume in .*here$"):
        (tmp_path / "here").mkdir()
        resume_goal(None, echo, workspace=tmp_path / "here", state_dir=tmp_path / "state")


@pytest.mark.conformance("A1")
@pytest.mark.parametrize(
    "said",
    [
        {"achieved": True, "complete": False, "score": 0},
        {"achieved": True, "score": 0},
        {"achieved": True, "complete": "yes"},
        {"achieved": True, "missing": "the tests"},
        {"achieved": True, "score": "1"},
        {"achieved": False, "complete": True},
    ],
)
def test_an_evaluator_that_contradicts_itself_achieves_nothing(said: dict[str, Any]):
    agent = GoalMiddleware(lambda task: said, 1).attach(echo)
    agent.prompt_sync("/goal it works")
    assert agent.state.extra["goal"]["status"] == "exhausted"
    assert "can't be used" in agent.state.extra["goal"]["last_reason"]


def test_the_commands_are_taken_in_any_case():
    agent = GoalMiddleware(lambda task: {"achieved": True, "complete": True, "score": 1}).attach(echo)
    assert agent.prompt_sync("/goal STATUS") is None
    agent.prompt_sync("/goal it works")
    assert agent.prompt_sync("/goal Status")["status"] == "achieved"
    assert agent.prompt_sync("/goal CLEAR") is None

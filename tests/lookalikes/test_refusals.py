"""What a caller of loops and middleware gets wrong is refused by name; an evaluator and a worker that fail are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen import (
    GoalLoop,
    GoalMiddleware,
    InvalidGoal,
    TurnResult,
    Usage,
    UsageError,
)
from donewhen.core.errors import WorkerFailed
from tests.library.test_bad_input import echo, yes
from tests.library.test_ends import broken, no
from tests.library.test_judged_turns import dies
from tests.tools import each_row


@pytest.mark.conformance("A1")
@each_row(
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
def test_an_evaluator_that_contradicts_itself_achieves_nothing(said: dict[str, Any]) -> None:
    agent = GoalMiddleware(lambda task: said, 1).attach(echo)
    agent.prompt_sync("/goal it works")
    assert agent.state.extra["goal"]["status"] == "exhausted"
    assert "can't be used" in agent.state.extra["goal"]["last_reason"]


def test_the_commands_are_taken_in_any_case() -> None:
    agent = GoalMiddleware(lambda task: {"achieved": True, "complete": True, "score": 1}).attach(echo)
    assert agent.prompt_sync("/goal STATUS") is None
    agent.prompt_sync("/goal it works")
    assert agent.prompt_sync("/goal Status")["status"] == "achieved"
    assert agent.prompt_sync("/goal CLEAR") is None


def test_loops_take_times_as_texts_too() -> None:
    assert GoalLoop(echo, timeout="30m").limits.timeout == 1800
    assert GoalMiddleware(lambda task: True, timeout="90s").timeout == 90


@each_row(
    "make, named",
    [
        (lambda: GoalLoop(echo, judge=5), "a judge is"),  # type: ignore[arg-type]
        (lambda: GoalLoop(echo, plugins=object()), "plugins"),  # type: ignore[arg-type]
        (lambda: GoalLoop(echo, preserve_context="x"), "preserve_context"),  # type: ignore[arg-type]
        (lambda: GoalLoop(echo, timeout="soon"), "timeout"),
        (lambda: GoalMiddleware(lambda task: True, workspace=5), "workspace"),  # type: ignore[arg-type]
        (lambda: GoalMiddleware(lambda task: True, plugins=5), "plugins"),  # type: ignore[arg-type]
        (lambda: GoalMiddleware(lambda task: True, on_interrupt=5), "on_interrupt"),  # type: ignore[arg-type]
    ],
)
def test_loops_and_middleware_refuse_alike(make: Callable[[], Any], named: str) -> None:
    with pytest.raises((UsageError, InvalidGoal), match=named):
        make()


def test_a_loop_and_a_middleware_tell_it_too() -> None:
    loop = GoalLoop(no, max_attempts=1)
    worker = loop.attach(broken)
    worker("Do it")
    result = loop.last_result(worker)
    assert result is not None
    assert (result.stop_reason, "out of credits" in result.reason) == ("max_attempts", True)

    agent = GoalMiddleware(lambda task: True, max_evaluations=1).attach(broken)
    agent.prompt_sync("/goal it is polite")
    assert "out of credits" in agent.state.extra["goal"]["last_reason"]


@pytest.mark.conformance("C8")
async def test_a_middleware_s_evaluator_is_not_asked_about_an_agent_that_dies(tmp_path: Path) -> None:
    class Agent:
        async def prompt(self, text: str) -> str:
            return dies(text)

    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("as it was\n")
    agent = GoalMiddleware(yes, workspace=tmp_path / "workspace", state_dir=tmp_path / "state").attach(Agent())
    with pytest.raises(WorkerFailed, match="out of credits"):
        await agent.prompt("/goal The text reads well")
    assert agent.state.extra["goal"]["status"] == "failed"


def test_a_goal_that_is_empty_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="must") as caught:
        GoalLoop("", judge=no)
    assert isinstance(caught.value, InvalidGoal | UsageError)


def test_a_worker_that_reports_its_turn_itself_is_answered_with_the_response_in_it() -> None:
    def worker(prompt: str) -> TurnResult:
        return TurnResult(response="hello there", usage=Usage(100, 20, usd=0.25))

    loop = GoalLoop(lambda response, agent: "hello" in response)
    assert loop(worker)("Greet me") == "hello there"

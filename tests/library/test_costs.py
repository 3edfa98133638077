"""What nobody accounts for is unknown, never nothing; what a worker reports counts; what can't be kept is said."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from donewhen import (
    AgentConfig,
    GoalVerdict,
    TurnResult,
    Usage,
    UsageError,
    WorkerFailed,
    resume_goal,
    run_goal,
)


def no(response: Any, agent: Any) -> bool:
    return False


def test_a_callable_that_reports_nothing_costs_an_unknown_amount() -> None:
    seen: list[Any] = []
    outcome = run_goal("Do it", lambda prompt: "done", checks=[no], max_iterations=2, on_event=seen.append)
    assert (outcome.worker_usage, outcome.cost, outcome.judge_usage) == (Usage(usd=None), None, Usage())
    assert seen[0].cost is None or seen[0].iterations == 0
    assert outcome.as_dict()["worker_usage"]["usd"] is None


@pytest.mark.parametrize("verdict", [True, {"score": 1, "complete": True}, GoalVerdict(1.0, True, "")])
def test_so_does_a_callable_judge_unless_it_says_what_it_took(verdict: Any) -> None:
    def worker(prompt: str) -> TurnResult:
        return TurnResult(response="done", usage=Usage(5, 5, usd=0.5))

    outcome = run_goal("Do it", worker, lambda task: verdict)
    assert (outcome.judge_usage.usd, outcome.worker_usage.usd, outcome.cost) == (None, 0.5, None)
    told = GoalVerdict(1.0, True, "", usage=Usage(10, 1, usd=0.25))
    assert run_goal("Do it", worker, lambda task: told).cost == 0.75


def test_a_turn_that_fails_says_what_it_took_or_makes_the_cost_unknown() -> None:
    def worker(prompt: str) -> str:
        raise WorkerFailed("out of credits", usage=Usage(7, 0, usd=0.1))

    reported = run_goal("Do it", worker, checks=[no], max_iterations=2)
    assert (reported.worker_usage.input_tokens, reported.cost) == (14, pytest.approx(0.2))

    def silent(prompt: str) -> str:
        raise RuntimeError("out of credits")

    assert run_goal("Do it", silent, checks=[no], max_iterations=1).cost is None


def test_a_budget_counts_what_is_known_and_a_warning_says_the_rest() -> None:
    turns: list[TurnResult] = [
        TurnResult(response="a", usage=Usage(60, 0, usd=0.6)),
        TurnResult(response="b"),
        TurnResult(response="c", usage=Usage(60, 0, usd=0.6)),
    ]
    outcome = run_goal("Do it", lambda prompt: turns.pop(0), checks=[no], budget=1.0)
    assert (outcome.status, outcome.iterations, outcome.cost) == ("over_budget", 3, None)
    assert outcome.warnings == (
        "what the worker costs is known only as far as reported: the budget of $1.00 counts nothing else",
    )
    tokens = run_goal("Do it", lambda prompt: "x", lambda task: False, token_budget=1_000, max_iterations=1)
    assert tokens.warnings == (
        "what the worker and the judge cost is known only as far as reported: the budget of 1,000 tokens counts "
        "nothing else",
    )
    assert not run_goal("Do it", lambda prompt: "x", checks=[no], max_iterations=1).warnings


@pytest.mark.skipif(find_spec("litellm") is None, reason="prices are litellm's")
def test_a_budget_for_a_model_without_a_price_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a budget of \$1\.00 can't be kept: the price of nobody/knows is unknown"):
        run_goal("Do it", AgentConfig("nobody/knows"), lambda task: True, workspace=tmp_path, budget=1.0)


def test_a_budget_that_comes_with_resuming_is_warned_of_then(tmp_path: Path) -> None:
    folder, state_dir = tmp_path / "w", tmp_path / "s"
    folder.mkdir()
    first = run_goal("Do it", lambda prompt: "x", checks=[no], max_iterations=1, workspace=folder, state_dir=state_dir)
    later = resume_goal(
        first.run_id,
        lambda prompt: "x",
        checks=[no],
        max_iterations=2,
        budget=2.0,
        workspace=folder,
        state_dir=state_dir,
    )
    assert not [warning for warning in first.warnings if "budget" in warning]
    assert (later.cost, later.status) == (None, "capped")
    assert ["$2.00" in warning for warning in later.warnings if "budget" in warning] == [True]

"""Workers, validators and callbacks that end, answer or say what nobody should: the run still ends, and says why."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from donewhen import Blocked, GoalOutcome, Question, TurnResult, Usage, arun_goal


def refuses(response: Any, agent: Any) -> bool:
    return False


@pytest.mark.timeout(20)
@pytest.mark.conformance("C8")
@pytest.mark.parametrize("raised", [asyncio.CancelledError(), BaseException("not even an error")])
async def test_an_async_worker_that_ends_as_if_it_was_cancelled_does_not_hang_the_run(raised: BaseException) -> None:
    """As one does that awaits a task of its own which was cancelled."""

    async def worker(prompt: str) -> str:
        raise raised

    outcome = await arun_goal("Do it", worker, checks=[refuses], max_iterations=2)
    assert outcome.status in ("capped", "crashed")


@pytest.mark.slow
@pytest.mark.timeout(20)
@pytest.mark.parametrize("place", ["validator", "judge"])
async def test_nor_does_an_async_validator_or_judge(place: str) -> None:
    async def cancelled(*given: Any) -> bool:
        raise asyncio.CancelledError

    async def worker(prompt: str) -> str:
        return "done"

    asked: Any = {"checks": [cancelled]} if place == "validator" else {"judge": cancelled}
    outcome = await arun_goal("Do it", worker, max_iterations=2, **asked)
    assert outcome.status in ("capped", "crashed", "paused")


async def test_half_a_character_in_what_is_said_is_no_defect() -> None:
    def worker(prompt: str) -> str:
        raise ValueError("\ud800")

    def check(response: Any, agent: Any) -> Any:
        return {"passed": False, "feedback": "\ud800"}

    failed = await arun_goal("Do it", worker, checks=[check], max_iterations=2)
    unmet = await arun_goal("Do it", lambda prompt: "done", checks=[check], max_iterations=2)
    assert (failed.status, unmet.status) == ("capped", "capped")


@pytest.mark.slow
@pytest.mark.timeout(20)
@pytest.mark.conformance("C18")
@pytest.mark.parametrize("how", ["exits", "never returns", "is cancelled"])
async def test_a_callback_holds_no_run_however_it_ends(how: str) -> None:
    async def tell(outcome: GoalOutcome) -> None:
        if how == "exits":
            raise SystemExit(3)
        if how == "is cancelled":
            raise asyncio.CancelledError
        await asyncio.Event().wait()

    with pytest.warns(RuntimeWarning, match="on_event"):
        outcome = await arun_goal("Do it", lambda prompt: "done", lambda task: True, on_event=tell)
    assert outcome.status == "complete"


class Unprintable:
    def __str__(self) -> str:
        raise OSError("no text")


def pieces() -> Any:
    yield "Dear "


HOLDS_ITSELF: dict[str, Any] = {}
HOLDS_ITSELF["content"] = HOLDS_ITSELF


@pytest.mark.conformance("C8")
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (Unprintable(), "no text"),
        (HOLDS_ITSELF, "recursion"),
        (pieces(), "a generator"),
        (Blocked(5), "some text"),  # type: ignore[arg-type]
        (Question(None), "some text"),  # type: ignore[arg-type]
    ],
    ids=["unprintable", "holds itself", "a generator", "blocked by 5", "no question"],
)
async def test_what_cannot_be_used_is_a_failed_turn(returned: Any, said: str) -> None:
    prompts: list[str] = []

    def worker(prompt: str) -> Any:
        prompts.append(prompt)
        return returned if len(prompts) == 1 else "done"

    def accepts(response: Any, agent: Any) -> bool:
        return True

    outcome = await arun_goal("Do it", worker, checks=[accepts], max_iterations=3)
    assert (outcome.status, outcome.iterations, outcome.response) == ("complete", 2, "done")
    assert said in prompts[1]


async def test_a_worker_that_reports_its_turn_itself_is_judged_by_the_response_in_it() -> None:
    """What it leaves out follows from the response; validators get the response alone."""
    seen: list[Any] = []

    def worker(prompt: str) -> TurnResult:
        return TurnResult(response="hello there", usage=Usage(100, 20, usd=0.25))

    def greets(response: Any, agent: Any) -> bool:
        seen.append(response)
        return "hello" in response

    outcome = await arun_goal("Say hello", worker, checks=[greets])
    assert (outcome.status, outcome.response, seen) == ("complete", "hello there", ["hello there"])
    assert (outcome.worker_usage, outcome.cost) == (Usage(100, 20, usd=0.25), 0.25)

    empty = await arun_goal("Say hello", lambda prompt: TurnResult(), checks=[greets], max_iterations=1)
    assert (empty.status, seen) == ("capped", ["hello there"])

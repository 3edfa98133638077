"""Callables as checks, replaced retry prompts, and preserved context, at the engine's ports (C5, C6, C15)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest

from donewhen.core.evidence import Outcome
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.work import TurnResult
from donewhen.engine.setup import Start
from donewhen.ports import Turn, TurnContext
from donewhen.workers.callables.validators import Validator, ValidatorChecker
from tests.core.builders import goal
from tests.engine.world import World, ended, idle, writes

CHECK = Check("c-short", "short answer", kind="validator")
GOAL = "GOAL.md"


def about_the_response() -> Goal:
    return goal(Requirement("r-short", 1, "the answer is short", (CHECK,), sole_check=True))


@dataclass
class Found:
    passed: bool
    feedback: str | None = None


async def patient(response: Any, agent: Any, **more: Any) -> bool:
    await asyncio.sleep(0)
    return response == "yes"


def broken(response: Any, agent: Any, **more: Any) -> bool:
    raise ValueError("no such table")


class Unsigned:
    """Nobody can tell what it takes."""

    @property
    def __signature__(self) -> Any:
        raise RuntimeError("no signature")

    def __call__(self, response: Any, agent: Any, **more: Any) -> bool:
        return True


@pytest.mark.conformance("C15")
@pytest.mark.parametrize(
    ("validator", "outcome", "reason"),
    [
        (lambda response, agent, **more: response == "yes", Outcome.PASSED, "passed"),
        (lambda response, agent, **more: False, Outcome.FAILED, "the validator says no"),
        (lambda response, agent, **more: {"passed": True}, Outcome.PASSED, "passed"),
        (lambda response, agent, **more: {"passed": False, "feedback": "too long"}, Outcome.FAILED, "too long"),
        (lambda response, agent, **more: Found(True), Outcome.PASSED, "passed"),
        (lambda response, agent, **more: Found(False, "too long"), Outcome.FAILED, "too long"),
        (lambda response, agent, **more: agent == "host", Outcome.PASSED, "passed"),
        (patient, Outcome.PASSED, "passed"),
        (broken, Outcome.FAILED, "ValueError: no such table"),
        (Unsigned(), Outcome.FAILED, "RuntimeError: no signature"),
        (lambda response, agent, **more: "true", Outcome.NOT_RUN, "'true'"),
        (lambda response, agent, **more: 1, Outcome.NOT_RUN, "returned 1"),
        (lambda response, agent, **more: None, Outcome.NOT_RUN, "None"),
        (lambda response, agent, **more: {"passed": "false"}, Outcome.NOT_RUN, "'false'"),
        (lambda response, agent, **more: {"passed": 1}, Outcome.NOT_RUN, "passed"),
        (lambda response, agent, **more: {}, Outcome.NOT_RUN, "{}"),
    ],
)
async def test_c15_a_validators_value_is_taken_strictly(
    world: World, validator: Validator, outcome: Outcome, reason: str
) -> None:
    checker = ValidatorChecker({CHECK.id: validator}, world.checker, response="yes", agent="host")
    result = await checker.run(CHECK, timeout=5, token="t")
    assert (result.outcome, reason in result.reason) == (outcome, True)
    assert result.passed is (outcome is Outcome.PASSED)


async def test_a_validator_that_never_returns_times_out(world: World) -> None:
    async def hangs(response: Any, agent: Any) -> bool:
        await asyncio.Event().wait()
        return True

    checker = ValidatorChecker({CHECK.id: hangs}, world.checker)
    assert (await checker.run(CHECK, timeout=0.05, token="t")).outcome is Outcome.TIMED_OUT


@pytest.mark.conformance("C15")
async def test_c15_a_goal_is_pursued_by_a_validator_over_the_workers_response(world: World) -> None:
    checker = ValidatorChecker({CHECK.id: lambda response, agent, **more: len(response) < 10}, world.checker, "")
    world.goals[GOAL] = about_the_response()

    def answers(turn: Turn, context: TurnContext, of: World) -> TurnResult:
        checker.response = "a long answer" if turn.iteration == 1 else "short"
        return TurnResult(response_digest=checker.response)

    world.worker.plays = [answers]
    checker.response = "x" * 100
    supervisor = world.supervisor(checker=checker)
    view = await ended(supervisor, (await supervisor.start(GOAL)).state.run_id)
    assert (view.state.status, view.state.iteration) == ("complete", 2)


@pytest.mark.conformance("C6")
async def test_c06_the_retry_prompt_can_be_replaced(world: World) -> None:
    world.worker.plays = [idle, writes("a.py", "good")]
    supervisor = world.supervisor(retry_prompt=lambda feedback: f"Nochmal! {feedback is not None}")
    await ended(supervisor, (await supervisor.start(GOAL)).state.run_id)
    assert [turn.feedback for turn in world.worker.turns] == [None, "Nochmal! True"]


@pytest.mark.conformance("C5")
@pytest.mark.parametrize("preserve", [True, False])
async def test_c05_a_worker_is_told_whether_its_conversation_goes_on(world: World, preserve: bool) -> None:
    world.worker.plays = [idle, writes("a.py", "good")]

    def settle(of: Goal, options: object) -> Start:
        start = world.settle(of, options)  # type: ignore[arg-type]
        return replace(start, options=replace(start.options, preserve_context=preserve))

    supervisor = world.supervisor(settle=settle)
    await ended(supervisor, (await supervisor.start(GOAL)).state.run_id)
    assert [turn.preserve_context for turn in world.worker.turns] == [preserve, preserve]


@pytest.mark.conformance("C7")
async def test_c07_two_folders_are_pursued_side_by_side_without_mixing(world: World, tmp_path_factory: Any) -> None:
    other = World(tmp_path_factory.mktemp("other"))
    other.goals, other.checker.behaviours = world.goals, world.checker.behaviours
    world.worker.plays, other.worker.plays = [writes("a.py", "good")], [idle]
    other.goals = {GOAL: replace(world.goals[GOAL], limits=replace(world.goals[GOAL].limits, max_iterations=2))}
    one, two = world.supervisor(), other.supervisor()
    views = await asyncio.gather(one.start(GOAL), two.start(GOAL))
    first, second = await asyncio.gather(ended(one, views[0].state.run_id), ended(two, views[1].state.run_id))
    assert (first.state.status, second.state.status) == ("complete", "capped")
    await other.close()

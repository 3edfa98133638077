"""Requirements about something outside of the workspace, which changes while no file does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from donewhen.core.events import JudgeOptions
from donewhen.core.goal import Goal
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.engine.api import LimitChanges, StartOptions
from donewhen.engine.setup import Start
from donewhen.judges.scripted import gullible_judge
from donewhen.ports import AuditContext, Judgement, JudgeTask
from tests.core.builders import goal, requirement
from tests.engine.world import GOAL, MemoryProbes, World, ended, fails, idle, until


class Asked:
    """A model, as far as a run knows: it says yes in the end, on the check that it is shown."""

    identity = "some model"

    def __init__(self, *findings: Any) -> None:
        self.findings = list(findings)

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        found = self.findings.pop(0) if len(self.findings) > 1 else self.findings[0]
        cited = tuple(one.id for one in task.evidence if one.citable(task.revision))
        return Judgement(Verdict(tuple(RequirementVerdict(one.id, found, "seen", cited) for one in task.requirements)))


def by_model(world: World) -> Any:
    def settle(of: Goal, options: StartOptions) -> Start:
        start = world.settle(of, options)
        return replace(start, options=replace(start.options, judging=JudgeOptions(("some/model",))))

    return settle


@pytest.mark.parametrize("external", [True, False])
async def test_what_is_outside_is_judged_again_after_every_turn(world: World, external: bool) -> None:
    world.goals[GOAL] = goal(requirement(1, "the page says hello", "curl", external=external), max_iterations=3)
    world.checker.behaviours["curl"] = lambda world: True
    judge = world.judge = Asked("unmet", "unmet", "met")
    world.worker.plays = [idle]
    supervisor = world.supervisor(settle=by_model(world))
    view = await ended(supervisor, (await supervisor.start(GOAL)).state.run_id)
    assert (view.state.status, judge.findings) == (("complete", ["met"]) if external else ("capped", ["unmet", "met"]))


@pytest.mark.parametrize("external", [True, False])
async def test_a_check_of_something_outside_may_change_its_mind(world: World, external: bool) -> None:
    world.goals[GOAL] = goal(requirement(1, "it answers", "curl", sole=True, external=external))
    answers = iter([False, False, True, True, True, True])
    world.checker.behaviours["curl"] = lambda world: next(answers)
    world.worker.plays = [idle]
    supervisor = world.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL)).state.run_id)
    assert view.state.status == "complete"
    # Else it is flaky, and runs until it has passed three times in a row.
    assert len(world.checker.ran) == (3 if external else 5)


@pytest.mark.parametrize("external", [True, False])
async def test_each_audit_looks_again_at_what_is_outside(world: World, external: bool) -> None:
    world.goals[GOAL] = goal(
        requirement(1, "it answers", "curl", sole=True, external=external), requirement(2, "", "other", sole=True)
    )
    world.checker.behaviours |= {"curl": lambda world: True, "other": lambda world: False}
    world.worker.plays = [idle]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL, StartOptions(limits=LimitChanges(max_iterations=1)))).state.run_id
    await ended(supervisor, run_id)
    ran = world.checker.ran.count("curl")
    world.worker.gate = asyncio.Event()
    await supervisor.resume(run_id, LimitChanges(max_iterations=5))
    await until(supervisor, run_id, lambda view: view.state.turn is not None)
    assert world.checker.ran.count("curl") - ran == (1 if external else 0)
    await supervisor.stop(run_id)


@pytest.mark.conformance("C8")
async def test_a_failed_turn_takes_what_is_known_of_the_outside(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it answers", external=True), requirement(2, "", "other", sole=True))
    world.checker.behaviours["other"] = lambda world: len(world.worker.turns) > 1
    world.judge = gullible_judge()
    world.worker.plays = [idle, fails("out of credits")]
    supervisor = world.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL)).state.run_id)
    assert view.state.status == "crashed"
    assert view.views[0].status != "met"


class CountingProbes(MemoryProbes):
    asked = 0

    async def addressing(self, *given: Any, **named: Any) -> tuple[()]:
        self.asked += 1
        return ()


@pytest.mark.conformance("A11")
@pytest.mark.parametrize("judged", [True, False])
async def test_text_that_addresses_a_judge_is_looked_for_only_where_there_is_one(world: World, judged: bool) -> None:
    world.goals[GOAL] = goal(requirement(1, "it answers", "curl", sole=True))
    world.checker.behaviours["curl"] = lambda world: bool(world.worker.turns)
    world.judge = gullible_judge() if judged else None
    world.worker.plays = [idle]
    probes = CountingProbes()
    supervisor = world.supervisor(probes=probes)
    await ended(supervisor, (await supervisor.start(GOAL)).state.run_id)
    assert (probes.asked > 0) is judged

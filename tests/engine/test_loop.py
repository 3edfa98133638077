"""The loop with everything in memory (C2-C9, C18-C21, A2-A9, A14)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from donewhen.core import changing
from donewhen.core.errors import AlreadyRunning, NotResumable, UnknownInterrupt, UsageError, out_of_memory
from donewhen.core.events import Entry, Event
from donewhen.core.evidence import CheckResult
from donewhen.core.work import Answer, Claim, TurnResult
from donewhen.engine.api import LimitChanges, RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.judges.scripted import OutageJudge, gullible_judge
from donewhen.ports import Live, TakeAct, Turn, TurnContext
from donewhen.store.memory import MemoryLedger
from tests.core.builders import fold_all, goal, requirement
from tests.engine.world import (
    GOAL,
    MemoryPeople,
    Player,
    World,
    contains,
    ended,
    fails,
    idle,
    pursue,
    returns,
    until,
    writes,
)
from tests.tools import in_flight


@pytest.mark.conformance("C2")
async def test_c02_proven_at_the_baseline_ends_at_iteration_0_without_a_turn(world: World) -> None:
    world.workspace.edit("a.py", b"good")
    view = await pursue(world)
    assert (view.state.status, view.state.iteration, world.worker.turns) == ("complete", 0, [])


@pytest.mark.conformance("C2", "C3")
async def test_c02_c03_the_feedback_names_what_is_unproven_and_the_second_turn_repairs_it(world: World) -> None:
    view = await pursue(world, idle, writes("a.py", "good"))
    assert (view.state.status, view.state.iteration) == ("complete", 2)
    feedback = world.worker.turns[1].feedback
    assert feedback is not None
    assert "R1" in feedback
    assert "exit code 1" in feedback
    assert "workspace as it is now" in feedback


@pytest.mark.conformance("A8")
async def test_a08_a_claim_is_no_proof(world: World) -> None:
    lie = returns(TurnResult(Claim("finished", "5 passed, all is done"), summary="all tests pass"))
    view = await pursue(world, lie, limits=LimitChanges(max_iterations=2))
    assert view.state.status == "capped"
    assert [one.status for one in view.views] == ["unmet"]


@pytest.mark.conformance("C4")
async def test_c04_the_timeout_interrupts_a_turn_in_flight(world: World) -> None:
    world.worker.gate = asyncio.Event()
    view = await in_flight(limited(world), lambda _: world.worker.cancelled)
    assert (view.state.status, world.worker.cancelled) == ("timed_out", 1)


@pytest.mark.conformance("C4")
async def test_c04_the_timeout_interrupts_a_check_in_flight(world: World) -> None:
    world.checker.gate = asyncio.Event()
    view = await in_flight(limited(world), lambda _: world.checker.cancelled)
    assert (view.state.status, world.checker.cancelled) == ("timed_out", 1)


def limited(world: World) -> Callable[[float], Awaitable[RunView]]:
    return lambda seconds: pursue(world, limits=LimitChanges(timeout=seconds))


@pytest.mark.conformance("C8")
async def test_c08_repeated_errors_end_the_run_as_crashed_with_the_reason(world: World) -> None:
    view = await pursue(world, fails("no such model"))
    assert view.state.status == "crashed"
    assert "no such model" in view.state.lifecycle.reason
    assert view.state.progress.iterations[0].error == "no such model"


class Defective(MemoryLedger):
    """While `fails` is set every append raises what no caller expects: before it is written, or after."""

    fails: str | None = None

    def _append(self, run_id: str, event: Event, at: float, seconds: float | None) -> Entry:
        if self.fails == "before":
            raise ZeroDivisionError("boom")
        entry = super()._append(run_id, event, at, seconds)
        if self.fails == "after":
            raise ZeroDivisionError("boom")
        return entry


def views(supervisor: Supervisor) -> list[RunView]:
    """What an editor is told from now on."""
    seen: list[RunView] = []
    supervisor.subscribe(seen.append)
    return seen


@pytest.mark.parametrize("fails", ["before", "after"])
@pytest.mark.parametrize("same", [True, False], ids=["same process", "another"])
async def test_a_defect_that_keeps_the_end_off_the_record_ends_the_run_for_who_follows(
    world: World, fails: str, same: bool
) -> None:
    ledger = world.ledger = Defective()

    def breaks(turn: Turn, context: TurnContext, world: World) -> None:
        ledger.fails = None if len(world.worker.turns) > 1 else fails

    world.worker.plays = [breaks, writes("a.py", "good")]
    supervisor = world.supervisor(ledger=ledger)
    run_id = (await supervisor.start(GOAL)).state.run_id
    seen = views(supervisor)
    with pytest.raises(ZeroDivisionError, match="boom") if fails == "before" else nullcontext():
        await ended(supervisor, run_id)
    state = seen[-1].state
    assert (state.status, state.lifecycle.reason) == ("crashed", "a defect in _append: ZeroDivisionError: boom")
    assert world.held == []
    ledger.fails = None
    again = supervisor if same else world.supervisor()
    await again.resume(run_id)
    state = (await ended(again, run_id)).state
    assert (state.status, state) == ("complete", fold_all(await ledger.entries(run_id)))


async def test_a_defect_of_what_changes_a_state_ends_the_run_for_who_follows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(kind: type[Any]) -> bool:
        raise ZeroDivisionError("boom")

    def breaks(turn: Turn, context: TurnContext, world: World) -> None:
        if len(world.worker.turns) == 1:
            monkeypatch.setattr(changing, "_only_sets_fields", broken)

    world.worker.plays = [breaks, writes("a.py", "good")]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    seen = views(supervisor)
    with pytest.raises(ZeroDivisionError, match="boom"):
        await ended(supervisor, run_id)
    assert (seen[-1].state.status, world.held) == ("crashed", [])
    monkeypatch.undo()
    await supervisor.resume(run_id)
    assert (await ended(supervisor, run_id)).state.status == "complete"


async def test_a_run_that_can_not_be_reached_ends_for_who_follows(world: World) -> None:
    class Deaf(MemoryPeople):
        async def listen(self, run_id: str, take: TakeAct) -> None:
            raise ZeroDivisionError("boom")

    supervisor = world.supervisor(people=Deaf({}))
    run_id = (await supervisor.start(GOAL)).state.run_id
    state = (await ended(supervisor, run_id)).state
    assert (state.status, state.lifecycle.reason, world.held) == (
        "crashed", "a defect in listen: ZeroDivisionError: boom", [],
    )  # fmt: skip


async def test_a_check_whose_end_can_not_be_put_on_record_lets_its_workspace_go(world: World) -> None:
    ledger = world.ledger = Defective()

    def breaks(world: World) -> bool:
        ledger.fails = "before"
        return True

    world.checker.behaviours["check"] = breaks
    supervisor = world.supervisor(ledger=ledger)
    with pytest.raises(ZeroDivisionError):
        await supervisor.check(GOAL)
    assert supervisor.registry.active == {}


async def test_a_defect_at_the_close_leaves_the_run_to_be_resumed(world: World) -> None:
    ledger = world.ledger = Defective()
    world.worker.gate = asyncio.Event()
    supervisor = world.supervisor(ledger=ledger)
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    ledger.fails = "before"
    await supervisor.close("the editor ended")
    assert world.held == []
    ledger.fails = None
    world.worker.gate.set()
    world.worker.plays = [writes("a.py", "good")]
    again = world.supervisor()
    await again.resume(run_id)
    assert (await ended(again, run_id)).state.status == "complete"


async def test_too_little_memory_ends_a_check_with_what_to_do(world: World) -> None:
    def starved(world: World) -> CheckResult:
        raise RuntimeError("can't start new thread")

    world.checker.behaviours = dict.fromkeys(world.checker.behaviours, starved)
    view = await world.supervisor().check(GOAL)
    assert view.state.lifecycle.end_status == "crashed"
    assert view.state.lifecycle.reason.startswith("there is too little memory")


@pytest.mark.conformance("C9")
async def test_c09_a_question_becomes_an_interrupt_and_its_answer_reaches_the_worker(world: World) -> None:
    world.worker.plays = [returns(TurnResult(Claim("question", "which port?"))), writes("a.py", "good")]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    waiting = await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    assert waiting.state.interrupts[0].title == "which port?"
    with pytest.raises(UnknownInterrupt):
        await supervisor.answer(run_id, "I9", Answer("text", "8080"))
    await supervisor.answer(run_id, "I1", Answer("text", "8080"))
    assert (await ended(supervisor, run_id)).state.status == "complete"
    assert world.worker.turns[1].answers == ("8080",)


@pytest.mark.conformance("C18")
async def test_c18_views_come_in_order_from_iteration_0_to_the_outcome(world: World) -> None:
    world.worker.plays = [writes("a.py", "good")]
    supervisor = world.supervisor()
    seen: list[RunView] = []
    supervisor.subscribe(seen.append)
    run_id = (await supervisor.start(GOAL)).state.run_id
    await ended(supervisor, run_id)
    assert (seen[0].state.status, seen[0].state.iteration) == ("running", 0)
    assert [view.state.sequence for view in seen] == sorted(view.state.sequence for view in seen)
    assert seen[-1].state.status == "complete"


@pytest.mark.conformance("C7", "C19")
async def test_c19_a_second_start_is_refused_and_names_the_first(world: World) -> None:
    world.worker.gate = asyncio.Event()
    supervisor, other = world.supervisor(), world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    for refused in (supervisor, other):
        with pytest.raises(AlreadyRunning, match=run_id):
            await refused.start(GOAL)


@pytest.mark.conformance("C19")
async def test_c19_stop_ends_a_turn_at_once_and_a_late_result_changes_nothing(world: World) -> None:
    world.worker.gate = asyncio.Event()
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    view = await supervisor.stop(run_id)
    world.worker.gate.set()
    assert (view.state.status, world.worker.cancelled) == ("cancelled", 1)
    with pytest.raises(UsageError, match="nothing to stop"):
        await supervisor.stop(run_id)


@pytest.mark.conformance("C19")
async def test_c19_stop_reaches_a_run_of_another_process(world: World) -> None:
    world.worker.gate = asyncio.Event()
    owner, other = world.supervisor(), world.supervisor()
    run_id = (await owner.start(GOAL)).state.run_id
    await world.worker.started.wait()
    assert (await other.stop(run_id)).state.status == "cancelled"
    assert (await owner.view(run_id)).state.status == "cancelled"


async def test_a_run_of_another_process_is_followed_live(world: World) -> None:
    world.worker.plays = [writes("a.py", "good")]
    owner, other = world.supervisor(), world.supervisor()
    run_id = (await owner.start(GOAL)).state.run_id
    assert (await ended(other, run_id)).state.status == "complete"


@pytest.mark.conformance("C20")
async def test_c20_pause_and_resume_keep_counts_and_run_the_same_iteration_again(world: World) -> None:
    world.worker.gate = asyncio.Event()
    world.worker.plays = [writes("a.py", "good")]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    paused = await supervisor.pause(run_id)
    assert (paused.state.status, paused.state.iteration) == ("paused", 1)
    world.worker.gate.set()
    await supervisor.resume(run_id)
    view = await ended(supervisor, run_id)
    assert (view.state.status, view.state.iteration) == ("complete", 1)
    assert view.state.elapsed >= paused.state.elapsed


@pytest.mark.conformance("C20")
async def test_c20_a_capped_run_goes_on_with_a_raised_limit_only(world: World) -> None:
    capped = await pursue(world, idle, writes("a.py", "good"), limits=LimitChanges(max_iterations=1))
    supervisor = world.supervisor()
    with pytest.raises(NotResumable, match="max_iterations"):
        await supervisor.resume(capped.state.run_id)
    await supervisor.resume(capped.state.run_id, LimitChanges(max_iterations=3))
    view = await ended(supervisor, capped.state.run_id)
    assert (view.state.status, view.state.iteration) == ("complete", 2)


@pytest.mark.conformance("C20")
async def test_c20_a_run_whose_supervisor_died_is_interrupted_and_goes_on(world: World) -> None:
    world.worker.gate = asyncio.Event()
    world.worker.plays = [writes("a.py", "good")]
    first = world.supervisor()
    run_id = (await first.start(GOAL)).state.run_id
    await world.worker.started.wait()
    await first.close("the client is gone")
    second = world.supervisor()
    found = await second.recover()
    assert [(view.state.run_id, view.state.status) for view in found] == [(run_id, "interrupted")]
    world.worker.gate.set()
    await second.resume()
    assert (await ended(second, run_id)).state.iteration == 1


@pytest.mark.conformance("C20")
async def test_c20_of_several_that_find_a_run_dead_one_puts_it_on_record(world: World) -> None:
    world.worker.gate = asyncio.Event()
    dying = world.ledger.connected()
    first = world.supervisor(ledger=dying)
    run_id = (await first.start(GOAL)).state.run_id
    await world.worker.started.wait()
    await dying.close()  # as a killed process leaves it: nothing more on record
    await first.close("killed")

    met = asyncio.Barrier(2)

    class Met(MemoryLedger):
        """Of one of two that have both read that the run is dead."""

        _first = True

        async def live(self, run_id: str) -> Live:
            if self._first:
                self._first = False
                async with asyncio.timeout(10):
                    await met.wait()
            return await super().live(run_id)

    def one() -> Supervisor:
        ledger = Met()
        ledger._record = world.ledger._record
        return world.supervisor(ledger=ledger)

    both = await asyncio.gather(one().recover(), one().recover())
    assert [[view.state.status for view in found] for found in both] == [["interrupted"], ["interrupted"]]
    events = [type(entry.event).__name__ for entry in await world.ledger.connected().entries(run_id)]
    assert events.count("RunInterrupted") == 1


@pytest.mark.conformance("A5")
async def test_a05_an_ended_goal_does_not_leak_into_the_next(world: World) -> None:
    first = await pursue(world, idle, limits=LimitChanges(max_iterations=2))
    second = await pursue(world, writes("a.py", "good"))
    assert first.state.run_id != second.state.run_id
    assert (second.state.iteration, second.state.status) == (1, "complete")
    assert world.worker.turns[-1].feedback is None


@pytest.mark.conformance("A6")
async def test_a06_a_judge_outage_pauses_the_run(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), requirement(2, "it reads well"))
    world.judge = OutageJudge(reason="502 bad gateway")
    view = await pursue(world, writes("a.py", "good"))
    assert (view.state.status, view.state.lifecycle.paused_by, view.state.iteration) == ("paused", "run", 1)
    assert "502 bad gateway" in view.state.lifecycle.reason


async def test_a_gullible_judge_does_not_complete_a_run_whose_check_fails(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check"))
    world.judge = gullible_judge()
    view = await pursue(world, idle, limits=LimitChanges(max_iterations=2))
    assert view.state.status == "capped"


async def test_checks_run_two_side_by_side(world: World) -> None:
    commands = [f"check{number}" for number in range(5)]
    world.goals[GOAL] = goal(*(requirement(n, f"r{n}", c, sole=True) for n, c in enumerate(commands, 1)))
    for command in commands:
        world.checker.behaviours[command] = contains("a.py", "bad")
    view = await pursue(world)
    assert view.state.status == "complete"
    assert world.checker.most == 2


async def test_human_each_settled_change_is_an_iteration(world: World) -> None:
    world.worker = Player(world, [idle], name="human", waits_for_person=True)
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda view: view.state.turn is not None)
    world.workspace.edit("a.py", b"still bad", by="person")
    await until(supervisor, run_id, lambda view: view.state.iteration == 2 and view.state.turn is not None)
    world.workspace.edit("a.py", b"good", by="person")
    view = await ended(supervisor, run_id)
    assert (view.state.status, view.state.iteration) == ("complete", 2)


async def test_a_persons_edit_while_a_question_is_open_is_proven_again(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), requirement(2, "it reads well"))
    world.workspace.edit("a.py", b"good")
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    world.workspace.edit("a.py", b"broken", by="person")
    view = await until(supervisor, run_id, lambda view: view.views[0].status == "unmet")
    assert view.state.status == "waiting"
    world.workspace.edit("a.py", b"good again", by="person")
    await until(supervisor, run_id, lambda view: view.views[0].status == "met")
    await supervisor.answer(run_id, "I1", Answer("approve", "I read it"))
    assert (await ended(supervisor, run_id)).state.status == "complete"


async def test_saving_the_goal_file_amends_the_run(world: World) -> None:
    world.worker.gate = asyncio.Event()
    world.worker.plays = [writes("a.py", "good")]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), requirement(2, "more", "more", sole=True))
    world.checker.behaviours["more"] = contains("a.py", "good")
    await supervisor.amend(GOAL)
    world.worker.gate.set()
    view = await ended(supervisor, run_id)
    assert view.state.status == "complete"
    assert len(view.views) == 2


async def test_a_saved_goal_file_leaves_the_limit_that_the_start_set(world: World) -> None:
    world.worker.gate = asyncio.Event()
    world.worker.plays = [writes("a.py", "good")]
    supervisor = world.supervisor()
    given = StartOptions(limits=LimitChanges(max_iterations=3))
    run_id = (await supervisor.start(GOAL, given)).state.run_id
    await world.worker.started.wait()
    saved = world.goals[GOAL]
    world.goals[GOAL] = replace(saved, objective=f"{saved.objective}, and well")
    await supervisor.amend(GOAL)
    amended = (await supervisor.view(run_id)).state.goal
    assert (amended.objective, amended.limits.max_iterations) == (world.goals[GOAL].objective, 3)
    world.goals[GOAL] = replace(world.goals[GOAL], limits=replace(saved.limits, max_iterations=5))
    await supervisor.amend(GOAL)
    assert (await supervisor.view(run_id)).state.goal.limits.max_iterations == 5
    world.worker.gate.set()
    assert (await ended(supervisor, run_id)).state.status == "complete"


@pytest.mark.conformance("A10")
async def test_a10_a_protected_file_that_a_worker_changed_blocks_until_it_is_accepted(world: World) -> None:
    world.workspace.edit("protected.py", b"1")

    def cheats(turn: object, context: object, of: World) -> None:
        of.workspace.edit("a.py", b"good")
        of.workspace.edit("protected.py", b"2")

    world.worker.plays = [cheats, idle]  # type: ignore[list-item]
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), stall_after=None)
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda view: bool(view.state.open_findings))
    await supervisor.accept(run_id, "F1", "it was meant")
    assert (await ended(supervisor, run_id)).state.status == "complete"


def test_errors_that_are_the_cause_of_each_other_are_looked_through_once() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert out_of_memory(first) == ""
    second.__context__, second.__cause__ = MemoryError(), None
    assert out_of_memory(first).startswith("there is too little memory")

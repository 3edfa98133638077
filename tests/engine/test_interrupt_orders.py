"""Answers, duplicates, stops, kills, resumes, amendments and new messages in every order (A2, A3, C23)."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.errors import AlreadyRunning, DoneWhenError, UnknownInterrupt
from donewhen.core.state import RunState
from donewhen.core.work import Answer
from donewhen.engine.runs import Supervisor
from tests.core.builders import fold_all, goal, requirement
from tests.engine.tooling import Hooks, Tooling, gate, says
from tests.engine.world import GOAL, World, contains
from tests.tools import examples

ACTIONS = ("approve", "deny", "text", "again", "unknown", "pause", "kill", "resume", "amend", "message", "stop")
REPLIES = (("one", "two"), ("two", "three"), ("good",))
"""The calls of each reply; `two` is asked for twice, and one leave is not the leave for the other."""


@dataclass
class Desk:
    """A run with a gate before every call, and the person, the crashes and the processes around it."""

    world: World
    worker: Tooling
    supervisor: Supervisor
    run_id: str = ""
    approved: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    stopped_with: int | None = None

    async def state(self) -> RunState:
        return fold_all(await self.world.ledger.entries(self.run_id))

    async def quiet(self) -> RunState:
        """Waits until the run stands still: it waits for a person, or is not pursued."""
        now = asyncio.get_running_loop().time
        end = now() + 30
        while now() < end:
            state = await self.state()
            asked = state.turn is not None and bool(state.interrupts)
            if not state.active or (asked and self._awaits(state)):
                return state
            await asyncio.sleep(0.002)  # a loop that never rests keeps the interpreter from the threads that work
        raise AssertionError("the run does not come to rest")

    def _awaits(self, state: RunState) -> bool:
        run = self.supervisor.registry.active.get(self.run_id)
        return run is not None and state.interrupts[0].id in run._answers

    async def do(self, action: str) -> None:
        state = await self.quiet()
        if state.lifecycle.ended:
            return
        if action in ("approve", "deny", "text"):
            await self._answer(state, action)
        else:
            await _others()[action](self, state)

    async def _answer(self, state: RunState, kind: str) -> None:
        if not state.interrupts:
            return
        asked = state.interrupts[0]
        await self.supervisor.answer(self.run_id, asked.id, Answer(kind, text="no, thank you"))  # type: ignore[arg-type]
        self.answered.append(asked.id)
        if kind == "approve":
            self.approved.append(str(asked.input["command"]))

    async def again(self, state: RunState) -> None:
        for identity in self.answered:
            with pytest.raises(UnknownInterrupt):
                await self.supervisor.answer(self.run_id, identity, Answer("approve"))

    async def unknown(self, state: RunState) -> None:
        with pytest.raises(UnknownInterrupt):
            await self.supervisor.answer(self.run_id, "I99", Answer("approve"))

    async def pause(self, state: RunState) -> None:
        if state.active:
            await self.supervisor.pause(self.run_id)

    async def kill(self, state: RunState) -> None:
        """Nothing more gets on record, and nobody lets go of anything."""
        await self.supervisor.registry.setup.ledger.close()
        for task in list(self.supervisor.registry.tasks.values()):
            task.cancel()
            await asyncio.wait({task})
        self.world.held.clear()
        self.world.open.remove(self.supervisor)
        self.supervisor = opened(self.world)
        await self.supervisor.recover()

    async def resume(self, state: RunState) -> None:
        if not state.active:
            await self.supervisor.resume(self.run_id)

    async def amend(self, state: RunState) -> None:
        now = self.world.goals[GOAL]
        extra = requirement(2, f"amended {len(now.objective)}", "check", sole=True)
        self.world.goals[GOAL] = replace(now, objective=now.objective + "!", requirements=(now.requirements[0], extra))
        await self.supervisor.amend(GOAL)

    async def message(self, state: RunState) -> None:
        """A plain message instead of an answer is none, and a new start is refused."""
        if state.active:
            with pytest.raises(AlreadyRunning):
                await self.supervisor.start(GOAL)
        if state.interrupts:
            with pytest.raises(DoneWhenError):
                await self.supervisor.answer(self.run_id, "go on", Answer("approve"))

    async def stop(self, state: RunState) -> None:
        self.stopped_with = len(self.worker.effects)
        await self.supervisor.stop(self.run_id)


def _others() -> dict[str, Callable[..., object]]:
    return {name: getattr(Desk, name) for name in ACTIONS if hasattr(Desk, name)}  # type: ignore[return-value]


def opened(world: World) -> Supervisor:
    return world.supervisor(plugins=lambda options: Hooks("gate", {"use_tool": gate}))


async def played(actions: list[str]) -> Desk:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.goals[GOAL] = goal(requirement(1, "`check` passes", "check", sole=True), max_iterations=1)
        world.checker.behaviours["check"] = contains("a.py", "good")
        worker = Tooling(world, [*(says("", *calls) for calls in REPLIES), says("done")])
        world.worker = worker  # type: ignore[assignment]
        desk = Desk(world, worker, opened(world))
        desk.run_id = (await desk.supervisor.start(GOAL)).state.run_id
        try:
            for action in actions:
                await desk.do(action)
                await holds(desk)
            for _ in range(20):
                await desk.do("resume")
                await desk.do("approve")
            await holds(desk)
            assert (await desk.state()).lifecycle.ended
        finally:
            await world.close()
        return desk


async def holds(desk: Desk) -> None:
    state = await desk.quiet()
    left = iter([call for calls in REPLIES for call in calls])
    assert all(effect in left for effect in desk.worker.effects), "out of order, or twice"
    assert desk.worker.effects == desk.approved[: len(desk.worker.effects)], "something ran without leave"
    assert len(set(desk.worker.asked)) == len(desk.worker.asked), "a call to the model was repeated"
    assert not (state.lifecycle.end_status == "complete" and state.interrupts)
    if desk.stopped_with is not None:
        assert state.lifecycle.end_status == "cancelled"
        assert len(desk.worker.effects) == desk.stopped_with


@pytest.mark.conformance("A2", "A3", "C23")
@examples(40)
@given(st.lists(st.sampled_from(ACTIONS), max_size=12))
def test_in_every_order_nothing_runs_without_leave_or_twice(actions: list[str]) -> None:
    asyncio.run(played(actions))


@pytest.mark.parametrize(
    "actions",
    [
        ["kill", "approve", "resume"],
        ["approve", "kill", "kill", "resume", "deny", "kill", "approve"],
        ["pause", "approve", "resume", "approve", "kill", "resume"],
        ["kill", "amend", "resume", "message", "again", "approve"],
        ["approve", "stop", "resume", "approve"],
    ],
    ids="-".join,
)
def test_orders_that_are_worth_a_name(actions: list[str]) -> None:
    asyncio.run(played(actions))


def test_everything_that_was_allowed_ran_once() -> None:
    desk = asyncio.run(played(["kill", "resume"] * 3))
    assert desk.worker.effects == [call for calls in REPLIES for call in calls]
    assert desk.worker.asked == [0, 1, 2, 3]

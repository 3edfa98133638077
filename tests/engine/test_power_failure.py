"""What a power failure leaves is what was last synced, which is what an intent took with it (A13)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from donewhen.core.errors import LedgerUnavailable
from donewhen.core.events import Entry, Event
from donewhen.core.state import RunState
from donewhen.engine.api import StartOptions
from donewhen.store.memory import MemoryLedger
from tests.core.builders import fold_all, goal, requirement
from tests.engine.world import GOAL, World, contains, ended, idle, writes


class Disk(MemoryLedger):
    """Knows what of the record is on the disk itself, and can lose its power after so many appends."""

    def __init__(self, power: int | None = None) -> None:
        super().__init__()
        self.power = power
        self.written: list[tuple[Entry, bool]] = []

    async def append(
        self, run_id: str, event: Event, at: float, *, durable: bool = True, seconds: float | None = None,
        after: int | None = None, alone: bool = False,
    ) -> Entry:  # fmt: skip
        if self.power is not None and len(self.written) >= self.power:
            await self.close()
            raise LedgerUnavailable("the power failed")
        entry = await super().append(run_id, event, at, durable=durable, seconds=seconds, after=after)
        self.written.append((entry, durable))
        return entry

    async def found_again(self, run_id: str) -> MemoryLedger:
        """The record as it is when the power is back."""
        synced = max((n for n, (_, durable) in enumerate(self.written) if durable), default=-1)
        later = MemoryLedger()
        for entry, _ in self.written[: synced + 1]:
            await later.append(run_id, entry.event, entry.at, seconds=entry.seconds)
        return later


def world_of(folder: Path, disk: Disk) -> World:
    world = World(folder)
    world.ledger = disk
    world.goals[GOAL] = goal(requirement(1, "`check` passes", "check", sole=True), max_iterations=5)
    world.checker.behaviours["check"] = contains("a.py", "good")
    world.worker.plays = [idle, writes("b.py", "half"), writes("a.py", "good")]
    return world


async def undisturbed(folder: Path) -> tuple[Disk, RunState]:
    disk = Disk()
    world = world_of(folder, disk)
    supervisor = world.supervisor(ledger=disk)
    view = await supervisor.start(GOAL, StartOptions())
    state = (await ended(supervisor, view.state.run_id)).state
    await world.close()
    assert (state.status, state.iteration) == ("complete", 3)
    return disk, state


async def test_an_iteration_waits_for_the_disk_three_times(tmp_path: Path) -> None:
    """Before the worker works, before checks run, and before anything is decided on what they found."""
    disk, _ = await undisturbed(tmp_path)
    names = [type(entry.event).__name__ for entry, durable in disk.written if durable]
    first = names.index("TurnStarted")
    assert names[first : first + 6] == ["TurnStarted", "AuditStarted", "AuditFinished"] * 2


@pytest.mark.conformance("A13")
async def test_whenever_the_power_fails_the_run_goes_on_to_the_same_end(tmp_path: Path) -> None:
    disk, expected = await undisturbed(tmp_path)
    for power in range(1, len(disk.written)):
        failing = Disk(power)
        world = world_of(tmp_path, failing)
        supervisor = world.supervisor(ledger=failing)
        run_id = ""
        try:
            run_id = (await supervisor.start(GOAL, StartOptions())).state.run_id
        except LedgerUnavailable:
            run_id = next(iter(failing._record.entries))
        tasks = list(supervisor.registry.tasks.values())
        if tasks:
            await asyncio.wait(tasks)
        world.held.clear()
        world.open.remove(supervisor)
        world.ledger = await failing.found_again(run_id)
        again = world.supervisor()
        await again.recover()
        if not fold_all(await world.ledger.entries(run_id)).lifecycle.ended:
            await again.resume(run_id)
        state = (await ended(again, run_id)).state
        assert (state.status, state.iteration) == (expected.status, expected.iteration), power
        assert [one.number for one in state.progress.iterations] == [
            one.number for one in expected.progress.iterations
        ], power
        assert world.workspace.read("b.py") == b"half", power
        assert len({turn.iteration for turn in world.worker.turns}) == expected.iteration, power
        await world.close()

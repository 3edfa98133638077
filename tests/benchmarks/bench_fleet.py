"""A fleet of goals that one turn completes: on this machine, and over a real Temporal server by one and two workers."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from donewhen.extras.fleet.board import Board
from donewhen.extras.fleet.local import LocalFleet
from donewhen.extras.fleet.manifest import Fleet
from donewhen.extras.fleet.record import open_fleet_record
from donewhen.extras.fleet.temporal.client import TemporalAsking
from donewhen.extras.fleet.temporal.workflows import workflow_of
from tests.fleet.places import goal, place
from tests.fleet.server import rig

GOALS = 60


def measure() -> dict[str, object]:
    found: dict[str, object] = {}
    for parallel in (1, 2):
        found[f"here, {parallel} at a time: goals a second"] = asyncio.run(_here(parallel))
    for workers in (1, 2):
        found.update(asyncio.run(_temporal(workers)))
    return found


def _fleet(folder: Path, parallel: int) -> Fleet:
    return Fleet("bench", [goal(folder, f"w{number}") for number in range(GOALS)], parallel)


async def _here(parallel: int) -> float:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        board = Board(_fleet(folder, parallel), "serial")
        begun = time.monotonic()
        await LocalFleet(open_fleet_record(board.fleet.name, folder / "record"), board, place(folder)).run()
        assert all(one.end == "complete" for one in board.goals.values())
        return round(GOALS / (time.monotonic() - begun), 2)


async def _temporal(workers: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        async with rig(folder) as server:
            client = await server.start_server()
            for _ in range(workers):
                await server.start_worker()
            asking = TemporalAsking(client, "bench")
            one = replace(_fleet(folder, workers), name="bench")
            await asking.start(replace(one, goals=[goal(folder, "first")]))  # every process has loaded what it needs
            await _ended(asking)
            assert server.server is not None
            pids, database = [each.pid for each in server.workers], folder / "temporal.db"
            before = _cpu(pids), _cpu([server.server.pid]), _size(database)
            begun = time.monotonic()
            await asking.start(one, new=True)
            board = await _ended(asking)
            seconds = time.monotonic() - begun
            after = _cpu(pids), _cpu([server.server.pid]), _size(database)
            assert all(each.end == "complete" for each in board.goals.values())
            fleet = await client.get_workflow_handle(workflow_of("bench")).describe()
            worked, served, kept = (late - early for early, late in zip(before, after, strict=True))
            of = f"Temporal, {workers} worker{'s' * (workers > 1)}"
            return {
                f"{of}: goals a second": round(GOALS / seconds, 2),
                f"{of}: CPU of the workers for a goal (s)": round(worked / GOALS, 3),
                f"{of}: CPU of the server for a goal (s)": round(served / GOALS, 3),
                f"{of}: database for a goal (kB)": round(kept / GOALS / 1000, 1),
                f"{of}: events of the fleet's workflow for a goal": round(fleet.history_length / GOALS, 1),
                f"{of}: memory of a worker (MB)": max(_memory(pids)),
            }


async def _ended(asking: TemporalAsking) -> Board:
    while not (board := await asking.board()).ended:  # noqa: ASYNC110  # the server rings no bell
        await asyncio.sleep(0.2)
    return board


def _cpu(pids: Sequence[int]) -> float:
    """Seconds of CPU of these processes, and of their children that have ended."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(one.user + one.system + one.children_user + one.children_system for one in times)


def _memory(pids: Sequence[int]) -> list[int]:
    return [round(psutil.Process(pid).memory_info().rss / 1e6) for pid in pids]


def _size(database: Path) -> int:
    return sum(one.stat().st_size for one in database.parent.glob(f"{database.name}*"))

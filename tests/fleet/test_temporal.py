"""A fleet over a real Temporal server, with workers as processes that are killed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.board import Board, Given
from donewhen.extras.fleet.manifest import Fleet, FleetGoal
from donewhen.extras.fleet.temporal.client import ServerAway, TemporalAsking, connected
from donewhen.extras.fleet.temporal.workflows import workflow_of
from tests.fleet.places import fleet, goal, runs_of, scripted, turns_of
from tests.fleet.server import PROGRAM, Rig, kill, rig
from tests.tools import needs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), needs(str(PROGRAM))]

ASKS = """
turns:
  - name: asks
    steps:
      - ask: {title: "Which colour?"}
      - run: "echo turn >> done.txt"
      - say: done
"""


async def once(asking: TemporalAsking, holds: Callable[[Board], bool]) -> Board:
    """The board as soon as this holds of it."""
    while True:
        try:
            board = await asking.board()
        except ServerAway:
            board = None
        if board is not None and holds(board):
            return board
        await asyncio.sleep(0.2)


async def test_questions_pauses_and_stops_reach_the_runs(tmp_path: Path) -> None:
    slow = goal(tmp_path, "slow", worker_command="echo turn >> done.txt; exec sleep 300")
    wanted = fleet([scripted(tmp_path, "asks", ASKS), slow, goal(tmp_path, "last", 2)])
    async with rig(tmp_path) as made:
        client = await made.start_server()
        await made.start_worker(parallel=2)
        asking = TemporalAsking(client, "f")
        with pytest.raises(UsageError, match="no open fleet"):
            await asking.board()
        await asking.start(wanted)
        await asking.ask("pause", {"goal": "last"})
        board = await once(asking, lambda now: now.goals["asks"].state == "waiting" and turns_of(slow) == 1)
        (view,) = await runs_of(tmp_path, wanted.goals[0])
        assert view.state.status == "paused"
        with pytest.raises(UsageError, match="no open question I9"):
            await asking.ask("answer", {"goal": "asks", "given": asdict(Given("I9", "text", "blue"))})
        await asking.ask(
            "answer", {"goal": "asks", "given": asdict(Given(board.goals["asks"].questions[0].id, "text"))}
        )
        await asking.ask("stop", {"goal": "slow"})
        board = await once(asking, lambda now: sum(one.open for one in now.goals.values()) == 1)
        assert (board.goals["asks"].end, board.goals["slow"].end) == ("complete", "cancelled")
        assert board.goals["last"].state == "paused"
        assert turns_of(wanted.goals[2]) < 2
        (view,) = await runs_of(tmp_path, slow)
        assert view.state.status == "cancelled"
        await asking.ask("resume", {"goal": "last"})
        board = await once(asking, lambda now: now.ended)
        assert board.goals["last"].end == "complete"
        with pytest.raises(UsageError, match="give --new"):
            await asking.start(wanted)


async def test_a_worker_that_the_server_gives_nothing_says_so_and_fails(tmp_path: Path) -> None:
    async with rig(tmp_path) as made:
        await made.start_server()
        worker = await made.start_worker("--namespace", "nowhere")
        assert await asyncio.wait_for(worker.wait(), 60) == 2
        assert "no goals: Namespace nowhere is not found" in (tmp_path / "worker-0.log").read_text(encoding="utf-8")


async def test_a_fleet_as_a_whole_is_paused_and_stopped(tmp_path: Path) -> None:
    wanted = fleet([goal(tmp_path, f"w{n}", 50, worker_command="echo turn >> done.txt; sleep 0.1") for n in range(3)])
    async with rig(tmp_path) as made:
        client = await made.start_server()
        await made.start_worker(parallel=2)
        asking = TemporalAsking(client, "f")
        await asking.start(wanted)
        await once(asking, lambda now: any(one.iteration for one in now.goals.values()))
        await asking.ask("pause", {"goal": None})
        await once(asking, lambda now: now.working == 0)
        before = sum(map(turns_of, wanted.goals))
        board = await asking.board()
        terminated = f"{workflow_of('f')}/{board.serial}/w0"
        await client.get_workflow_handle(terminated).terminate("by hand")
        await asking.ask("stop", {"goal": None})
        board = await once(asking, lambda now: now.ended)
        assert {one.end for one in board.goals.values()} == {"cancelled"}
        assert sum(map(turns_of, wanted.goals)) == before


async def test_sixty_goals_outlive_their_workers_and_their_server(tmp_path: Path) -> None:
    """Outcomes are those of runs alone, no goal has two runs, no turn is missing or there twice."""
    chance = random.Random(7)
    goals: list[FleetGoal] = []
    for number in range(60):
        turns = chance.choice((1, 1, 1, 2, 2, 3))
        limited = {"max_iterations": "2"} if number % 10 == 9 else {}
        goals.append(goal(tmp_path, f"w{number}", 9 if limited else turns, **limited))
    wanted = Fleet("sixty", goals, parallel=6, lost_after=3.0)
    async with rig(tmp_path) as made:
        client = await made.start_server()
        for _ in range(3):
            await made.start_worker()
        asking = TemporalAsking(client, "sixty")
        await asking.start(wanted)
        harm = asyncio.create_task(_harmed(made, chance, goals))
        board = await once(asking, lambda now: now.ended)
        kills, restarts = await harm
        query = f"WorkflowId = '{workflow_of('sixty')}'"
        assert len([one async for one in (await connected(made.address, "default")).list_workflows(query)]) > 1, (
            "its history was to be cut"
        )
    assert (kills, restarts) == (6, 2)
    for one in goals:
        limited = "max_iterations" in one.settings
        standing = board.goals[one.id]
        (view,) = await runs_of(tmp_path, one)
        assert standing.end == view.state.status == ("capped" if limited else "complete"), one.id
        assert standing.iteration == view.state.iteration == turns_of(one), one.id


async def _harmed(made: Rig, chance: random.Random, goals: list[FleetGoal]) -> tuple[int, int]:
    """Kills a worker, and starts another, whenever some more turns have been taken; the server at two of these."""
    kills = restarts = 0
    for number in range(6):
        target = sum(map(turns_of, goals)) + 12
        while sum(map(turns_of, goals)) < target:  # noqa: ASYNC110  # files of other processes ring no bell
            await asyncio.sleep(0.05)
        await asyncio.sleep(chance.random() / 2)  # somewhere in an iteration
        await kill(chance.choice([one for one in made.workers if one.returncode is None]))
        kills += 1
        if number in (1, 4):
            assert made.server is not None
            await kill(made.server)
            await made.start_server()
            restarts += 1
        await made.start_worker()
    return kills, restarts

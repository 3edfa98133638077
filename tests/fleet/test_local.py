"""A fleet on this machine, by the real engine."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.board import Board, Given
from donewhen.extras.fleet.local import LocalAsking, LocalFleet, opened_board
from donewhen.extras.fleet.manifest import Fleet, FleetGoal
from donewhen.extras.fleet.record import FleetRecord, open_fleet_record
from tests import forked
from tests.fleet.places import fleet, goal, place, runs_of, scripted, turns_of, until

ASKS = """
turns:
  - name: asks
    steps:
      - ask: {title: "Which colour?"}
      - run: "echo turn >> done.txt"
      - say: done
"""
COSTS = """
turns:
  - steps: [{run: "echo turn > other.txt"}, {usage: {usd: 0.09}}]
  - steps: [{run: "echo turn >> done.txt"}, {usage: {usd: 0.09}}]
"""


def record_of(folder: Path, name: str = "f") -> closing[FleetRecord]:
    return closing(open_fleet_record(name, folder))


async def run(folder: Path, wanted: Fleet) -> Board:
    with record_of(folder, wanted.name) as record:
        record.lead()
        return await LocalFleet(record, opened_board(record, wanted), place(folder)).run()


async def ask(folder: Path, operation: str, **arguments: object) -> None:
    with record_of(folder) as record:
        await LocalAsking(record, place(folder), "f").ask(operation, arguments)


async def test_every_goal_is_complete_after_the_turns_that_it_needs(tmp_path: Path) -> None:
    wanted = fleet([goal(tmp_path, f"w{n}", n) for n in (1, 2, 3)])
    board = await run(tmp_path, wanted)
    for one in wanted.goals:
        (view,) = await runs_of(tmp_path, one)
        standing = board.goals[one.id]
        assert (standing.end, view.state.status, view.state.run_id) == ("complete", "complete", standing.run_id)
        assert standing.iteration == view.state.iteration == turns_of(one) == int(one.id[1:])


async def test_a_goal_ends_by_its_own_limits_and_one_that_can_not_start_says_why(tmp_path: Path) -> None:
    capped = goal(tmp_path, "capped", 9, max_iterations="2")
    lost = FleetGoal("lost", str(tmp_path / "nowhere"))
    human = FleetGoal("human", goal(tmp_path, "h").workspace, settings={"worker": "human"})
    board = await run(tmp_path, fleet([capped, lost, human]))
    ends = {name: one.end for name, one in board.goals.items()}
    assert ends == {"capped": "capped", "lost": "failed", "human": "failed"}
    assert "is not a folder on this machine" in board.goals["lost"].reason
    assert "set `worker` in the manifest" in board.goals["human"].reason
    with record_of(tmp_path) as record:
        assert opened_board(record, fleet([capped, lost, human])).ended


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"worker": "command", "worker_command": "not-here"}, "two: `not-here` is not installed"),
        pytest.param({"worker": "agent", "model": "foo"}, "two: `foo` names no provider", marks=pytest.mark.slow),
    ],
)
async def test_a_fleet_whose_workers_are_not_all_here_does_not_begin(
    settings: dict[str, str], told: str, tmp_path: Path
) -> None:
    one, two = goal(tmp_path, "one"), goal(tmp_path, "two")
    with pytest.raises(UsageError, match=told):
        await run(tmp_path, fleet([one, replace(two, settings=settings)]))
    with record_of(tmp_path) as record:
        assert (record.board(), await runs_of(tmp_path, one), await runs_of(tmp_path, two)) == (None, [], [])
    board = await run(tmp_path, fleet([one, two]))
    assert {name: standing.end for name, standing in board.goals.items()} == {"one": "complete", "two": "complete"}


@pytest.mark.slow
async def test_a_raised_limit_takes_an_ended_goal_up_again(tmp_path: Path) -> None:
    one = goal(tmp_path, "w", 3, max_iterations="2")
    await run(tmp_path, fleet([one]))
    await ask(tmp_path, "resume", goal="w")
    one.settings["max_iterations"] = "5"
    board = await run(tmp_path, fleet([one]))
    assert (board.goals["w"].end, turns_of(one), len(await runs_of(tmp_path, one))) == ("complete", 3, 1)


async def test_a_run_with_a_question_lets_go_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    one = scripted(tmp_path, "w", ASKS)
    board = await run(tmp_path, fleet([one]))
    (question,) = board.goals["w"].questions
    assert (board.goals["w"].state, question.title) == ("waiting", "Which colour?")
    (view,) = await runs_of(tmp_path, one)
    assert view.state.status == "paused"
    with pytest.raises(UsageError, match="no open question I9"):
        await ask(tmp_path, "answer", goal="w", given=asdict(Given("I9", "text", "blue")))
    await ask(tmp_path, "answer", goal="w", given=asdict(Given(question.id, "text", "blue")))
    board = await run(tmp_path, fleet([one]))
    assert (board.goals["w"].end, turns_of(one)) == ("complete", 1)


@pytest.mark.slow
async def test_a_budget_is_shared_and_what_it_ends_goes_on_with_more(tmp_path: Path) -> None:
    wanted = fleet([scripted(tmp_path, f"w{n}", COSTS) for n in range(3)])
    wanted.goals[0].settings["budget"] = "5"
    poor = Fleet("f", wanted.goals, 2, max_cost=0.3, iteration_cost=0.1)
    board = await run(tmp_path, poor)
    assert board.spent == pytest.approx(0.27)
    assert {one.end for one in board.goals.values()} == {"complete", "over_budget"}
    board = await run(tmp_path, Fleet("f", wanted.goals, 2, max_cost=1.0, iteration_cost=0.1))
    assert [one.end for one in board.goals.values()] == ["complete"] * 3
    assert board.spent == pytest.approx(0.54)
    assert [turns_of(one) for one in wanted.goals] == [1, 1, 1]


async def test_stop_ends_what_is_at_work_and_everything_else(tmp_path: Path) -> None:
    slow = goal(tmp_path, "slow", worker_command="echo turn >> done.txt; exec sleep 60")
    wanted = fleet([slow, goal(tmp_path, "quick", 1)])
    driving = asyncio.ensure_future(run(tmp_path, wanted))
    await until(lambda: turns_of(slow) > 0)
    await ask(tmp_path, "stop", goal="slow")
    board = await driving
    assert {name: one.end for name, one in board.goals.items()} == {"slow": "cancelled", "quick": "complete"}
    (view,) = await runs_of(tmp_path, slow)
    assert view.state.status == "cancelled"


@pytest.mark.slow
async def test_a_run_of_somebody_else_in_the_workspace_is_waited_for(tmp_path: Path) -> None:
    one = goal(tmp_path, "w", 2)
    other = FleetGoal(
        "other", one.workspace, settings={**one.settings, "worker_command": "sleep 0.5; echo x >> done.txt"}
    )
    first = asyncio.ensure_future(run(tmp_path, fleet([other], "a")))
    second = asyncio.ensure_future(run(tmp_path, fleet([one], "b")))
    ends = [one.end for board in (await first, await second) for one in board.goals.values()]
    assert ends == ["complete", "complete"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the worker is a shell command")
async def test_a_fleet_that_is_killed_goes_on_and_nothing_is_done_twice(tmp_path: Path) -> None:
    slow = "echo turn >> done.txt; sleep 0.2"
    goals = [goal(tmp_path, f"w{n}", 2, worker_command=slow) for n in range(4)]
    manifest = tmp_path / "fleet.toml"
    lines = ['name = "killed"', "parallel = 2"]
    for one in goals:
        lines += ["[[goal]]", f"workspace = '{one.workspace}'", "[goal.settings]"]
        lines += [f"{name} = '{value}'" for name, value in one.settings.items()]
    manifest.write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "donewhen", "fleet", "run", str(manifest), "--state-dir", str(tmp_path / "state")]
    for _ in range(2):
        begun = sum(map(turns_of, goals))
        process = forked.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await until(lambda: sum(map(turns_of, goals)) > begun)  # noqa: B023  # called before the next round
        process.kill()
        process.wait()
    done = await asyncio.to_thread(forked.run, command, timeout=60)
    assert done.returncode == 0, done.stdout
    for one in goals:
        (view,) = await runs_of(tmp_path, one)
        assert (view.state.status, view.state.iteration, turns_of(one)) == ("complete", 2, 2)

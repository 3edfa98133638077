"""Time that counts is time in which the run was active: jumps of clocks, suspends, stops and restarts add nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core import events as e
from donewhen.core.fold.dispatch import begin, fold
from donewhen.engine.active import GAP, Stopwatch
from donewhen.engine.api import LimitChanges, RunView, StartOptions
from tests.core.builders import goal, requirement
from tests.engine.world import GOAL, Player, World, ended, until, writes

DAY = 86_400.0


@dataclass
class MemoryClock:
    """Both clocks of a machine. `step` passes at each look at the monotonic one; `walls` are the times of day that
    come, one a look."""

    wall: float = 1_700_000_000.0
    seconds: float = 50.0
    step: float = 0.0
    walls: Sequence[float] = ()
    _looks: int = field(default=0)

    def now(self) -> float:
        self._looks += 1
        return self.walls[self._looks % len(self.walls)] if self.walls else self.wall

    def monotonic(self) -> float:
        self.seconds += self.step
        return self.seconds


STEPS = st.lists(
    st.tuples(
        st.floats(-1e9, 1e9, allow_nan=False),
        st.sampled_from([0.0, 0.05, 0.5, 1.0, GAP, 60.0, DAY, -1.0, -DAY]),
        st.sampled_from(["look", "entry", "restart"]),
    ),
    max_size=40,
)


@given(STEPS)
def test_neither_clock_can_make_more_or_less_of_the_time(steps: list[tuple[float, float, str]]) -> None:
    """What counts is the sum of the small steps, wherever entries, restarts and jumps fall."""
    clock = MemoryClock()
    watch = Stopwatch(clock)
    state = begin(e.Entry(1, clock.now(), e.RunStarted("r", "pursue", goal(), e.RunOptions("command"), "rev"), 0.0))
    counted, open_ = 0.0, 0.0
    for number, (wall, step, what) in enumerate(steps, 2):
        clock.wall += wall
        clock.seconds += step
        open_ += min(max(step, 0.0), GAP)
        if what == "restart":
            # The process died: what was not on record is gone, and the clock of the next one begins anywhere.
            clock.seconds, open_ = abs(wall), 0.0
            watch = Stopwatch(clock)
        elif what == "look":
            watch.look()
            assert state.elapsed_after(watch.look()) == pytest.approx(counted + open_)
        else:
            before = state.elapsed
            state = fold(state, e.Entry(state.sequence + number, clock.now(), e.Warned("x", str(number)), watch.lap()))
            counted, open_ = counted + open_, 0.0
            assert state.elapsed >= before
        assert state.elapsed == pytest.approx(counted)


def worked(clock: MemoryClock, jump: Callable[[MemoryClock], None]) -> Callable[..., None]:
    def play(turn: object, context: object, world: World) -> None:
        jump(clock)
        world.workspace.edit("a.py", b"good")

    return play


def a_day_of_wall_time(clock: MemoryClock) -> None:
    clock.wall += DAY


def back_by_a_day(clock: MemoryClock) -> None:
    clock.wall -= DAY


def suspended_for_a_day(clock: MemoryClock) -> None:
    """As on a system whose monotonic clock goes on meanwhile, or where the process itself was stopped."""
    clock.wall += DAY
    clock.seconds += DAY


def monotonic_back(clock: MemoryClock) -> None:
    clock.seconds -= DAY


@pytest.mark.parametrize("jump", [a_day_of_wall_time, back_by_a_day, suspended_for_a_day, monotonic_back])
async def test_a_jump_during_a_turn_ends_no_run(world: World, jump: Callable[[MemoryClock], None]) -> None:
    clock = MemoryClock()
    world.worker.plays = [worked(clock, jump)]
    supervisor = world.supervisor(clock=clock)
    view = await supervisor.start(GOAL, StartOptions(limits=LimitChanges(timeout=60.0)))
    state = (await ended(supervisor, view.state.run_id)).state
    assert state.status == "complete"
    assert 0.0 <= state.elapsed <= GAP
    assert all(0.0 <= record.seconds <= GAP for record in state.progress.iterations)


async def test_the_time_of_work_is_kept(world: World) -> None:
    """However the time of day jumps meanwhile."""
    clock = MemoryClock(walls=(1e9, 2e9, 5.0))
    world.worker.gate = asyncio.Event()
    supervisor = world.supervisor(clock=clock)
    view = await supervisor.start(GOAL, StartOptions(limits=LimitChanges(timeout=12.0)))
    await world.worker.started.wait()
    clock.step = 1.0
    state = (await ended(supervisor, view.state.run_id)).state
    assert (state.status, world.worker.cancelled) == ("timed_out", 1)
    assert 12.0 <= state.elapsed < 30.0


async def test_what_a_dead_supervisor_had_worked_is_in_the_record(world: World) -> None:
    """Up to its last sign of life; the time until somebody found it doesn't count."""
    clock = MemoryClock(step=0.5)
    world.worker.gate = asyncio.Event()
    dead = world.supervisor(clock=clock)
    run_id = (await dead.start(GOAL)).state.run_id
    await until(dead, run_id, lambda view: view.state.turn is not None)
    while (lived := (await world.ledger.live(run_id)).elapsed) < 20.0:  # noqa: ASYNC110  # its heart beats
        await asyncio.sleep(0.01)
    world.held.clear()
    clock.step, clock.wall = 0.0, clock.wall + DAY
    state = (await world.supervisor(clock=clock).view(run_id)).state
    assert state.status == "interrupted"
    assert lived <= state.elapsed < lived + 30.0


async def test_time_goes_on_in_views_between_two_entries(world: World) -> None:
    clock = MemoryClock()
    world.worker.gate = asyncio.Event()
    supervisor = world.supervisor(clock=clock)
    run_id = (await supervisor.start(GOAL)).state.run_id
    first: RunView = await until(supervisor, run_id, lambda view: view.state.turn is not None)
    clock.seconds += 1.5
    second = await supervisor.view(run_id)
    assert second.state.sequence >= first.state.sequence
    assert second.elapsed == pytest.approx(first.elapsed + 1.5)


async def test_the_newest_run_is_the_one_that_was_started_last(world: World) -> None:
    clock = MemoryClock()
    ids: list[str] = []
    for _ in range(2):
        world.worker = Player(world, [writes("a.py", "good")])
        supervisor = world.supervisor(clock=clock)
        ids.append((await supervisor.start(GOAL)).state.run_id)
        await ended(supervisor, ids[-1])
        clock.wall -= DAY
    assert [one.run_id for one in await supervisor.summaries()] == ids[::-1]
    assert (await supervisor.views(GOAL))[0].state.run_id == ids[-1]
    await supervisor.forget(GOAL)
    assert await supervisor.views(GOAL) == []


def test_entries_of_the_first_version_are_timed_by_their_times() -> None:
    started = e.RunStarted("r", "pursue", goal(requirement(1)), e.RunOptions("command"), "rev")
    state = begin(e.Entry(1, 100.0, started))
    for number, (at, elapsed) in enumerate([(104.0, 4.0), (90.0, 4.0), (91.0, 5.0)], 2):
        state = fold(state, e.Entry(number, at, e.Warned("x", str(number))))
        assert state.elapsed == elapsed
    state = fold(state, e.Entry(5, 5000.0, e.RunInterrupted("died", 93.0)))
    assert state.elapsed == 7.0

"""Publishing soon, not too often, and the last state always."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from donewhen.lsp.publisher import Throttle


async def test_the_first_trigger_acts_at_once_and_many_act_once_more() -> None:
    acted: list[float] = []

    async def act() -> None:
        acted.append(time.monotonic())

    throttle = Throttle(0.05, act)
    for _ in range(50):
        throttle.trigger()
        await asyncio.sleep(0)
    await throttle.flush()
    assert len(acted) == 2
    assert acted[1] - acted[0] >= 0.05


async def test_the_last_state_is_never_dropped() -> None:
    state, seen = 0, list[int]()

    async def act() -> None:
        shown = state
        await asyncio.sleep(0.001)
        seen.append(shown)

    throttle = Throttle(0.002, act)
    for state in range(1, 40):  # noqa: B007 - read by act()
        throttle.trigger()
        await asyncio.sleep(0.001)
    await throttle.flush()
    assert seen[-1] == 39
    assert len(seen) < 39


async def test_a_failure_is_logged_and_does_not_end_it() -> None:
    seen: list[int] = []

    async def act() -> None:
        seen.append(len(seen))
        if len(seen) == 1:
            raise ValueError("one of ours")

    throttle = Throttle(0.0, act)
    throttle.trigger()
    await throttle.flush()
    throttle.trigger()
    await throttle.flush()
    assert seen == [0, 1]


async def test_a_stopped_pulse_is_still() -> None:
    seen: list[int] = []

    async def act() -> None:
        seen.append(1)

    throttle = Throttle(0.01, act)
    throttle.trigger()
    throttle.trigger()
    throttle.stop()
    await throttle.flush()
    assert seen == []


async def test_what_can_wait_waits_and_is_hurried_by_what_cannot() -> None:
    acted: list[float] = []

    async def act() -> None:
        acted.append(time.monotonic())

    throttle = Throttle(0.0, act)
    throttle.trigger(patience=30)
    await settled(lambda: len(acted) == 1)
    throttle.trigger(patience=30)
    await asyncio.sleep(0.02)
    assert len(acted) == 1
    throttle.trigger()
    await throttle.flush()
    assert len(acted) == 2


async def test_who_must_see_the_last_state_does_not_wait_for_the_patient() -> None:
    acted: list[int] = []

    async def act() -> None:
        acted.append(1)

    throttle = Throttle(0.0, act)
    throttle.trigger(patience=30)
    await settled(lambda: len(acted) == 1)
    throttle.trigger(patience=30)
    await asyncio.wait_for(throttle.flush(), 60)
    assert len(acted) == 2


async def test_acts_that_take_long_leave_most_of_the_time_to_others() -> None:
    acted: list[tuple[float, float]] = []

    async def act() -> None:
        began = time.monotonic()
        await asyncio.sleep(0.02)
        acted.append((began, time.monotonic()))

    throttle = Throttle(0.0, act)
    throttle.trigger()
    await settled(lambda: len(acted) == 1)
    throttle.trigger()
    await throttle.flush()
    (began, ended), (again, _) = acted
    assert again - ended >= 3 * (ended - began)


async def settled(holds: Callable[[], bool]) -> None:
    for _ in range(100_000):
        if holds():
            return
        await asyncio.sleep(0)
    pytest.fail("it did not come to that")

"""Publishing soon, not too often, and the last state always."""

from __future__ import annotations

import asyncio
import time

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

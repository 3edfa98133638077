"""An event loop without a clock: while something is ready time stands still, and else it jumps to the next timer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

MOST_STEPS = 400_000
"""Passes of the loop in one simulation: more are a loop that never comes to rest."""


class Stuck(Exception):
    """Nothing is ready, and no timer would ever make anything so."""


class VirtualLoop(asyncio.BaseEventLoop):
    """asyncio's own scheduling, over time that is only a number. `thread_delay` gives the seconds until what was handed
    to a thread is done: it is done in this thread, then."""

    def __init__(self, thread_delay: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__()
        self._selector = self  # what `_run_once` waits by: `select` below
        self._clock_resolution = 1e-9
        self._now = 0.0
        self._steps = 0
        self._thread_delay = thread_delay

    def time(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> tuple[()]:
        """Waiting is jumping."""
        self._steps += 1
        if timeout is None:
            raise Stuck("nothing is left to happen")
        if self._steps > MOST_STEPS:
            raise Stuck(f"it did not come to rest in {MOST_STEPS:,} steps")
        self._now += timeout
        return ()

    def _process_events(self, event_list: object) -> None:
        """There are none: no sockets, no pipes."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        done: asyncio.Future[Any] = self.create_future()

        def do() -> None:
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001  # it belongs to whoever waits for the thread
                if not done.done():
                    done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(result)

        self.call_later(self._thread_delay(), do)
        return done

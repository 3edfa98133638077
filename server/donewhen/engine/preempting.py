"""What cuts a step off: a stop, a pause, or the time limit (C4, C19)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from donewhen.core.state import RunState
from donewhen.ports import Clock


class Preemption:
    """Watches over one step. `look` is called after each change of the run; `came` is done once the step must end."""

    def __init__(self, state: Callable[[], RunState], clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._armed: tuple[float, bool] | None = None
        self.came: asyncio.Future[None] = self._loop.create_future()
        self.look()

    def look(self) -> None:
        state = self._state()
        if self.came.done():
            return
        if state.stop_requested is not None or state.pause_requested is not None:
            self.came.set_result(None)
            return
        limit = state.limit("timeout")
        wanted = (limit, state.time_counts) if limit is not None else None
        if wanted != self._armed:
            self._arm(wanted)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.came.cancel()

    def _arm(self, wanted: tuple[float, bool] | None) -> None:
        """A timer for what is left of the time; none while it doesn't count."""
        self._armed = wanted
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wanted is None or not wanted[1]:
            return
        remaining = wanted[0] - self._state().elapsed_at(self._clock.now())
        if remaining <= 0:
            self.came.set_result(None)
        else:
            self._timer = self._loop.call_later(remaining, self._due)

    def _due(self) -> None:
        """The loop's clock and ours may differ a little: what is left is waited for."""
        self._timer = None
        if not self.came.done():
            self._arm(self._armed)

"""What interrupts a step: a stop, a pause, or the time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from donewhen.core.state import RunState


class Preemption:
    """Watches over one step. `look` is called after each change of the run, and as its time goes by; `came` is done
    once the step must end. `seconds` are those of work since the run's last entry."""

    def __init__(self, state: Callable[[], RunState], seconds: Callable[[], float]) -> None:
        self._state = state
        self._seconds = seconds
        self.came: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.look()

    def look(self) -> None:
        if not self.came.done() and self._is_due():
            self.came.set_result(None)

    def close(self) -> None:
        self.came.cancel()

    def _is_due(self) -> bool:
        state = self._state()
        if state.stop_requested is not None or state.pause_requested is not None:
            return True
        limit = state.limit("timeout")
        return limit is not None and state.time_counts and state.elapsed_after(self._seconds()) >= limit

"""Doing something soon after it became due, not too often, and never dropping the last time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


class Pulse:
    """Runs `act` at once after a poke, one at a time, then at most once per `interval` seconds while pokes come."""

    def __init__(self, interval: float, act: Callable[[], Awaitable[None]]) -> None:
        self._interval = interval
        self._act = act
        self._due = False
        self._task: asyncio.Task[None] | None = None

    def poke(self) -> None:
        self._due = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._beat())

    def stop(self) -> None:
        self._due = False
        if self._task is not None:
            self._task.cancel()

    async def settle(self) -> None:
        """Returns when nothing is due: for what must see the last state."""
        while self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))

    async def _beat(self) -> None:
        while self._due:
            self._due = False
            try:
                await self._act()
            except Exception:  # One failed publication must not end all later ones.
                logger.exception("publishing failed")
            await asyncio.sleep(self._interval)

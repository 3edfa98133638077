"""The clock of the machine."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Implements `ports.Clock` with the wall time."""

    def now(self) -> float:
        return time.time()

    async def sleep_until(self, at: float) -> None:
        await asyncio.sleep(max(0.0, at - time.time()))

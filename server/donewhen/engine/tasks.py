"""Ending tasks."""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN = 0.2


async def cancelled(*tasks: asyncio.Task[Any] | asyncio.Future[Any]) -> None:
    """Cancels tasks and returns once they have ended. A cancellation that a step lost (before Python 3.12,
    `asyncio.wait_for` loses one that comes together with its result) is given again."""
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN)

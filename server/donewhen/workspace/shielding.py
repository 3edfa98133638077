"""Steps that a cancellation waits for: interrupted, they would lose hints, or leave files partly restored."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def shielded(step: Coroutine[Any, Any, T]) -> T:
    """Runs a step to its end, even if the caller is cancelled in the meantime; the cancellation then takes effect."""
    task = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # nobody is left to receive it
        raise

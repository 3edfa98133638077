"""Steps that a cancellation waits for: half done they would lose what was heard of, or leave files half put back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def shielded(step: Coroutine[Any, Any, T]) -> T:
    """Does a step to its end, even where the caller is cancelled meanwhile; the cancellation goes on then."""
    task = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # whoever would have been told is gone
        raise

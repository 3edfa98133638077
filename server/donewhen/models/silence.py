"""Limits the time in which nothing comes of a reply, and not the reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager


class Silence(TimeoutError):
    """Nothing was heard for too long."""


@asynccontextmanager
async def limited_silence(first: float, between: float) -> AsyncGenerator[Callable[[], None]]:
    """Raises Silence where nothing is heard for `first` seconds, or for `between` seconds after something was,
    which is told by calling what it gives."""
    seconds = first
    timeout = asyncio.timeout(first)

    def heard() -> None:
        nonlocal seconds
        if not timeout.expired():
            seconds = between
            timeout.reschedule(asyncio.get_running_loop().time() + between)

    try:
        async with timeout:
            yield heard
    except TimeoutError as error:
        raise (Silence(f"sent nothing for {seconds:.0f} s") if timeout.expired() else error) from None

"""Plain functions of plugins, called beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


async def in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """What it returns or raises. A thread can't be stopped: one that is cancelled goes on, and nobody listens."""

    def call() -> Any:
        try:
            return function(*given)
        except StopIteration as error:  # no future can carry it: whoever waits would wait for ever
            raise RuntimeError("StopIteration") from error

    return await asyncio.to_thread(call)

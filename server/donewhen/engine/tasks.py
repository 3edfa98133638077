"""Ends tasks."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")
AGAIN = 0.2


def came_of(step: asyncio.Task[T]) -> T:
    """Returns or raises what a task did. A task that ended as cancelled although nobody here cancelled it has
    failed."""
    if step.cancelled():
        raise RuntimeError("it ended as if it had been cancelled, but nobody cancelled it")
    error = step.exception()
    if error is None or isinstance(error, Exception):
        return step.result()
    raise RuntimeError(f"{type(error).__name__}: {error}") from error


async def cancelled(*tasks: asyncio.Task[Any] | asyncio.Future[Any]) -> None:
    """Cancels tasks and returns once they have ended. A cancellation that a step lost (before Python 3.12,
    `asyncio.wait_for` loses one that comes together with its result) is given again."""
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN)

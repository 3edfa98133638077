"""Functions of plugins: plain ones, called beside the event loop, and those that end as none should."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator
from typing import Any


@contextlib.contextmanager
def failing_soundly() -> Generator[None]:
    """What a plugin raises is its failure, also where it ends as if it was cancelled, as with a task of its own that
    was, while nobody cancelled this one: RuntimeError then."""
    try:
        yield
    except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise RuntimeError(f"it raised {type(error).__name__}: {error}".rstrip(": ")) from error


async def in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """What it returns or raises. A thread can't be stopped: one that is cancelled goes on, and nobody listens."""

    def call() -> Any:
        try:
            return function(*given)
        except StopIteration as error:  # no future can carry it: whoever waits would wait for ever
            raise RuntimeError("StopIteration") from error

    return await asyncio.to_thread(call)

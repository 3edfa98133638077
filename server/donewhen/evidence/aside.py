"""Blocking Python code beside the event loop, in a thread that nothing waits for once it is given up."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def aside(call: Callable[[], T]) -> T:
    """What the call returns or raises, in a thread of its own with the caller's context variables.

    Cancelled, it is given up: the thread runs on by itself, its result is dropped, and it keeps neither the loop nor
    the process from ending, as a thread of the default executor would.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]  # only a failed call has no result
        else:
            future.set_exception(error)

    def work() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = context.run(call)
        except BaseException as error:  # noqa: BLE001  # whatever it is belongs to whoever waits
            failure = _raisable(error)
        if not loop.is_closed():
            _tell(loop, lambda: settle(result, failure))

    threading.Thread(target=work, name="donewhen-aside", daemon=True).start()
    return await future


def _raisable(error: BaseException) -> Exception:
    """What leaves a coroutine as itself: the end of an iteration, of a task or of the program doesn't."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    raised = RuntimeError(f"the call raised {type(error).__name__}: {error}")
    raised.__cause__ = error
    return raised


def _tell(loop: asyncio.AbstractEventLoop, settle: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        return  # the loop closed meanwhile: nobody waits any more

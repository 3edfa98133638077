"""Blocking Python code beside the event loop, in a thread that nothing waits for once it is given up."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


async def aside(call: Callable[[], T]) -> T:
    """What the call returns or raises, in a thread with nothing else to do, with the caller's context variables.

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

    def work() -> Callable[[], None]:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = context.run(call)
        except BaseException as error:  # noqa: BLE001  # whatever it is belongs to whoever waits
            failure = raisable(error)
        return lambda: None if loop.is_closed() else _tell(loop, lambda: settle(result, failure))

    _free_thread().do(work)
    return await future


async def awaited(call: Awaitable[T]) -> T:
    """What it returns or raises. One that wants the program to end fails, as it does in a thread; so does one that ends
    as if it was cancelled, as with a task of its own that was, while nobody cancelled this one."""
    try:
        return await call
    except (Exception, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise raisable(error) from error


class _Thread:
    """A thread that is kept for the next call: starting one takes longer than most calls. Nothing waits for it."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], Callable[[], None]]] = SimpleQueue()
        threading.Thread(target=self._run, name="donewhen-aside", daemon=True).start()

    def do(self, work: Callable[[], Callable[[], None]]) -> None:
        self._work.put(work)

    def _run(self) -> None:
        kept = True
        while kept:
            tell = self._work.get()()
            kept = len(_idle) < KEPT
            if kept:
                _idle.append(self)  # before whoever waits can make the next call
            tell()
            del tell  # a result is not held on to


def _free_thread() -> _Thread:
    try:
        return _idle.pop()
    except IndexError:
        return _Thread()


KEPT = 4
"""Idle threads that are kept; more of them end."""
_idle: deque[_Thread] = deque()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def raisable(error: BaseException) -> Exception:
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

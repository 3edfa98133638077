"""Where synchronous code and the event loop meet: callables beside the loop, coroutines for callers without one."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from donewhen.evidence.aside import aside, awaited

T = TypeVar("T")


async def called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a callable returns, sync or async. A sync one runs in a thread with the caller's context variables; where
    the caller is cancelled it is left behind, and what it returns is dropped. `sys.exit` is an error like any other."""
    if is_async(function):
        return await awaited(function(*args, **kwargs))
    found = await aside(lambda: function(*args, **kwargs))
    return await awaited(found) if inspect.isawaitable(found) else found


def is_async(function: Callable[..., Any]) -> bool:
    """True for coroutine functions, and for objects whose `__call__` is one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # the method itself is looked at


def run_sync(coroutine: Coroutine[Any, Any, T], interrupted: Callable[[], bool] | None = None) -> T:
    """Runs a coroutine to its end for a caller without `await`: in a thread of its own, so that it works where a loop
    runs already, as in a notebook.

    At a KeyboardInterrupt `interrupted` is called in the coroutine's loop, and may let the coroutine end by itself;
    where it returns False, without it, and at a second one, the coroutine is cancelled.
    """
    running = _Running(coroutine, interrupted)
    thread = threading.Thread(
        target=contextvars.copy_context().run, args=(running.body,), name="donewhen-run", daemon=True
    )
    thread.start()
    while not running.over.is_set():
        try:
            # With a timeout, since on Windows a wait without one can't be interrupted; and no `join`, which takes a
            # thread for ended where it was interrupted.
            running.over.wait(0.5)
        except KeyboardInterrupt:
            running.interrupt()
    return running.result()


class _Running:
    """A coroutine in a loop of its own, and what came of it."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], interrupted: Callable[[], bool] | None) -> None:
        self._coroutine = coroutine
        self._interrupted = interrupted
        self._asked = False
        self.over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._value: Any = None
        self._error: BaseException | None = None

    def body(self) -> None:
        try:
            self._value = asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001  # it is raised where the call was made
            self._error = error
        finally:
            self.over.set()

    async def _main(self) -> Any:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.ensure_future(self._coroutine)
        return await self._task

    def interrupt(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just closed
                self._loop.call_soon_threadsafe(self._in_the_loop)

    def _in_the_loop(self) -> None:
        first, self._asked = not self._asked, True
        if first and self._interrupted is not None and self._interrupted():
            return
        if self._task is not None:
            self._task.cancel()

    def result(self) -> Any:
        if isinstance(self._error, asyncio.CancelledError) and self._asked:
            raise KeyboardInterrupt from self._error
        if self._error is not None:
            raise self._error
        return self._value

"""Where synchronous code and the event loop meet: callables beside the loop, coroutines for callers without one."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


async def called(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What a callable returns, sync or async. A sync one runs in a thread with the caller's context variables; where
    the caller is cancelled it is left behind, and what it returns is dropped. `sys.exit` is an error like any other."""
    if is_async(function):
        return await awaited(function(*args, **kwargs))
    found = await run_in_thread(lambda: function(*args, **kwargs))
    return await awaited(found) if inspect.isawaitable(found) else found


class Tracked:
    """A sync callable that says whether it is at work, in whichever threads."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._calls: list[None] = []

    @property
    def at_work(self) -> bool:
        return bool(self._calls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._calls.append(None)  # a list, since threads change it at once
        try:
            return self._function(*args, **kwargs)
        finally:
            self._calls.pop()


def is_async(function: Callable[..., Any]) -> bool:
    """True for coroutine functions, and for objects whose `__call__` is one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # the method itself is looked at


async def awaited(call: Awaitable[T]) -> T:
    """What it returns or raises, as `failing_as_a_call` says."""
    with failing_as_a_call():
        return await call


@contextlib.contextmanager
def failing_as_a_call() -> Generator[None]:
    """Somebody else's code that wants the program to end fails, as it does in a thread; so does code that ends as if it
    was cancelled, as with a task of its own that was, while nobody cancelled this one."""
    try:
        yield
    except (Exception, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise raisable(error) from error


def raisable(error: BaseException) -> Exception:
    """What leaves a coroutine as itself: the end of an iteration, of a task or of the program doesn't, nor the
    CancelledError of a pool of threads, which asyncio takes for that of a task."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration | CancelledError):
        return error
    raised = RuntimeError(f"the call raised {type(error).__name__}: {error}".rstrip(": "))
    raised.__cause__ = error
    return raised


async def run_in_thread(call: Callable[[], T]) -> T:
    """What the call returns or raises, in a thread with nothing else to do, with the caller's context variables. Calls
    that follow each other are made in the same thread: what was made there may hold on to it, as a connection of
    sqlite3 does.

    Cancelled, it is given up: the thread runs on by itself, its result is dropped, and it keeps neither the loop nor
    the process from ending, as a thread of the default executor would.
    """
    ended: Future[T] = Future()
    ended.set_running_or_notify_cancel()  # from now on it can't be cancelled, only ignored
    context = contextvars.copy_context()

    def work() -> Callable[[], None]:
        try:
            return partial(ended.set_result, context.run(call))
        except BaseException as error:  # noqa: BLE001  # whatever it is belongs to whoever waits
            return partial(ended.set_exception, raisable(error))

    try:
        calls = _idle.pop()
    except IndexError:
        calls = _Calls()
        threading.Thread(target=_serve_calls, args=(calls,), name="donewhen-aside", daemon=True).start()
    calls.put(work)
    return await asyncio.wrap_future(ended)


_Calls = SimpleQueue[Callable[[], Callable[[], None]]]
"""What a thread is to do; each call returns what tells of its end."""
KEPT = 4
"""Idle threads that are kept; more of them end."""
_idle: deque[_Calls] = deque()


def _serve_calls(calls: _Calls) -> None:
    kept = True
    while kept:
        tell = calls.get()()
        kept = len(_idle) < KEPT
        if kept:
            _idle.append(calls)  # before whoever waits can make the next call
        tell()
        del tell  # a result is not held on to


async def to_its_end(ending: Coroutine[Any, Any, T]) -> T:
    """What it returns or raises, however often the waiting task is cancelled meanwhile."""
    task = asyncio.ensure_future(ending)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    return task.result()


# ------------------------------------------------------------------------------- callers without a loop


def run_sync(coroutine: Coroutine[Any, Any, T], interrupted: Callable[[], bool] | None = None) -> T:
    """Runs a coroutine to its end for a caller without `await`, also where a loop runs already, as in a notebook. All
    of them run on one loop that lasts as long as the process, since agents keep connections, which belong to the loop
    that they were made on.

    At a KeyboardInterrupt `interrupted` is called in the coroutine's loop, and may let the coroutine end by itself;
    where it returns False, without it, and at a second one, the coroutine is cancelled.
    """
    if _loop_held.get() or threading.current_thread() is _lasting.thread:  # no signal comes here
        context = contextvars.copy_context()
        context.run(_loop_held.set, True)
        with ThreadPoolExecutor(1) as aside:
            return aside.submit(context.run, asyncio.run, coroutine).result()
    loop = _lasting.loop()
    over = threading.Event()
    tasks: list[asyncio.Task[T]] = []
    asked = False

    def begin() -> None:
        tasks.append(loop.create_task(coroutine))
        tasks[0].add_done_callback(lambda _: over.set())

    def interrupt() -> None:
        nonlocal asked
        first, asked = not asked, True
        if not (first and interrupted is not None and interrupted()):
            tasks[0].cancel()

    loop.call_soon_threadsafe(begin)
    while not over.is_set():
        try:
            over.wait(0.5)  # with a timeout, since on Windows a wait without one can't be interrupted
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(interrupt)
    if asked and tasks[0].cancelled():
        raise KeyboardInterrupt
    return tasks[0].result()


class _LastingLoop:
    """The loop that lasts, in a thread that nothing waits for; both are made when they are first needed."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self.thread = threading.Thread(target=self._serve, args=(self._loop,), name="donewhen-run", daemon=True)
                self.thread.start()
            return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            # What a task raises to end the program leaves the loop, which other calls need.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()

    def forget(self) -> None:
        """After a fork the thread is the parent's."""
        self.__init__()


_lasting = _LastingLoop()
_loop_held: contextvars.ContextVar[bool] = contextvars.ContextVar("donewhen_loop_held", default=False)
"""True below a call that holds that loop until it returns: nothing there may wait for the loop."""


def _forget_threads() -> None:
    _lasting.forget()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)

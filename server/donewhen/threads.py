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
from concurrent.futures import CancelledError, Future
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
    """Runs a coroutine to its end for a caller without `await`: in a thread of its own, so that it works where a loop
    runs already, as in a notebook.

    At a KeyboardInterrupt `interrupted` is called in the coroutine's loop, and may let the coroutine end by itself;
    where it returns False, without it, and at a second one, the coroutine is cancelled.
    """
    running = _Running(coroutine, interrupted)
    context = contextvars.copy_context()
    context.run(_lasting.set, threading.current_thread() is not _lasting_loops.thread)
    thread = threading.Thread(target=context.run, args=(running.body,), name="donewhen-run", daemon=True)
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
    """A coroutine in a loop of its own, and its outcome."""

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


# ------------------------------------------------------------------------------------------ agents' loops


class BackgroundCall:
    """An awaitable of an agent at work, which can be cut off without being waited for.

    Below `run_sync` it runs on a loop that lasts as long as the process, since agents keep connections, which belong to
    the loop that they were made on; elsewhere on the caller's own.
    """

    def __init__(self, work: Callable[[], Awaitable[Any]]) -> None:
        self._here = asyncio.get_running_loop()
        self._ended: asyncio.Future[Any] = self._here.create_future()
        self._task: asyncio.Task[Any] | None = None
        self._loop = _lasting_loops.loop() if _lasting.get() else self._here
        if self._loop is self._here:
            self._start_task(work)
        else:
            self._loop.call_soon_threadsafe(self._start_task, work, context=contextvars.copy_context())

    async def result(self) -> Any:
        """What it returns or raises. It continues when this is cancelled."""
        return await asyncio.shield(self._ended)

    async def ends(self, seconds: float) -> bool:
        """Whether it ends within that time."""
        ended, _ = await asyncio.wait({self._ended}, timeout=seconds)
        return bool(ended)

    def cancel(self) -> None:
        if self._loop is self._here:
            self._cancel()
        else:
            self._loop.call_soon_threadsafe(self._cancel)

    def _start_task(self, work: Callable[[], Awaitable[Any]]) -> None:
        self._task = self._loop.create_task(_awaited(work))
        self._task.add_done_callback(self._hand_over)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _hand_over(self, task: asyncio.Task[Any]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if self._loop is self._here:
            self._settle(task, error)
            return
        with contextlib.suppress(RuntimeError):  # nothing waits now: that loop is closed
            self._here.call_soon_threadsafe(self._settle, task, error)

    def _settle(self, task: asyncio.Task[Any], error: BaseException | None) -> None:
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(task.result())
            return
        self._ended.set_exception(raisable(error))
        self._ended.exception()  # where it was cut off, nobody asks


async def _awaited(work: Callable[[], Awaitable[Any]]) -> Any:
    return await awaited(work())


class _LastingLoops:
    """The one loop that lasts, in a thread that nothing waits for."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self.thread = threading.Thread(target=self._loop.run_forever, name="donewhen-agents", daemon=True)
                self.thread.start()
            return self._loop

    def forget(self) -> None:
        """After a fork the thread is the parent's."""
        self.__init__()


_lasting_loops = _LastingLoops()
_lasting: contextvars.ContextVar[bool] = contextvars.ContextVar("donewhen_lasting", default=False)


def _forget_threads() -> None:
    _lasting_loops.forget()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)

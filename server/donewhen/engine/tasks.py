"""Ends tasks, runs some side by side, and interrupts a step: by a stop, a pause, or the time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from donewhen.core.state import RunState

T = TypeVar("T")
AGAIN = 0.2


def result_of(step: asyncio.Task[T]) -> T:
    """Returns or raises what a task did. A task that ended as cancelled although nobody here cancelled it has
    failed."""
    if step.cancelled():
        raise RuntimeError("it ended as if cancelled, but nothing cancelled it")
    error = step.exception()
    if error is None or isinstance(error, Exception):
        return step.result()
    raise RuntimeError(f"{type(error).__name__}: {error}") from error


async def cancel_all(*tasks: asyncio.Task[Any] | asyncio.Future[Any]) -> None:
    """Cancels tasks and returns once they have ended. A cancellation that a step lost (before Python 3.12,
    `asyncio.wait_for` loses one that comes together with its result) is given again."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=AGAIN)


async def side_by_side(steps: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All of them, in their order. The first failure cancels the others, and has waited for them when it is raised."""
    tasks = [asyncio.ensure_future(step) for step in steps]
    ended = set[asyncio.Task[T]]()
    try:
        if tasks:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        # Once each: a second time, as by `gather`, cuts off what a step does to end in good order.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if task in ended and not task.cancelled() and (error := task.exception()) is not None:
            raise error
    return [task.result() for task in tasks]


# What interrupts a step: a stop, a pause, or the time limit.


class Preemption:
    """Watches over one step. `look` is called after each change of the run, and as its time goes by; `came` is done
    once the step must end. `seconds` are those of work since the run's last entry."""

    def __init__(self, state: Callable[[], RunState], seconds: Callable[[], float]) -> None:
        self._state = state
        self._seconds = seconds
        self.came: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.look()

    def look(self) -> None:
        if not self.came.done() and self._is_due():
            self.came.set_result(None)

    def close(self) -> None:
        self.came.cancel()

    def _is_due(self) -> bool:
        state = self._state()
        if state.lifecycle.stop_requested is not None or state.lifecycle.pause_requested is not None:
            return True
        limit = state.limit("timeout")
        return limit is not None and state.time_counts and state.elapsed_after(self._seconds()) >= limit

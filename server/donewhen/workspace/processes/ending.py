"""Ends processes, and waits for the end of one that this process did not start."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable

LOOKS_EVERY = 1.0
"""Seconds between two looks at a process, for systems that don't report its end."""
SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has none: its SIGTERM ends a process at once
_TERM_GRACE = 0.7
_GIVE_UP = 1.9
_POLL = 0.02


async def end_all(find: Callable[[], Awaitable[set[int]]], *, at_once: bool = False) -> tuple[set[int], set[int]]:
    """Asks the processes that `find` finds to end (SIGTERM), unless `at_once`, then kills them. Returns those that were
    found, and those of them that still live after 2 s."""
    begun = time.monotonic() - (_TERM_GRACE if at_once else 0.0)
    asked: set[int] = set()
    # Twice before nobody is left: a process that forks and ends can escape one look.
    while left := await find() or await find():
        waited = time.monotonic() - begun
        if waited > _GIVE_UP:
            break
        patient = waited <= _TERM_GRACE
        signal_each(left - asked if patient else left, signal.SIGTERM if patient else SIGKILL)
        asked |= left
        await asyncio.sleep(_POLL)
    return asked, left


def signal_each(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue  # it has ended since the search, or may not be signalled: who asked looks again


async def until_gone(pid: int, lives: Callable[[], bool] | None = None) -> None:
    """Returns once the process that has this pid now has ended, at once if there is none. `lives` says whether the pid
    is still that of the process that is meant. On Linux nothing is polled."""
    try:
        descriptor = os.pidfd_open(pid) if sys.platform == "linux" else None
    except ProcessLookupError:
        return
    except OSError:
        descriptor = None
    if descriptor is None:
        import psutil

        while psutil.pid_exists(pid) if lives is None else lives():  # noqa: ASYNC110  # there is no notification
            await asyncio.sleep(LOOKS_EVERY)
        return
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: ended.done() or ended.set_result(None))
    try:
        # Only now is it sure that what is watched is what was looked at: a pid may have got another owner before.
        if lives is None or lives():
            await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)

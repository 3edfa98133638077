"""Hears that a process has ended that this one did not start."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable

LOOKS_EVERY = 1.0
"""Seconds between two looks at a process, for systems that don't report its end."""


def exists(pid: int) -> bool:
    """Whether any process has this pid."""
    if sys.platform == "win32":
        return True  # the check would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


async def until_gone(pid: int, lives: Callable[[], bool] | None = None) -> None:
    """Returns once the process that has this pid now has ended, at once if there is none. `lives` says whether the pid
    is still that of the process that is meant; on Windows, without it, this never returns. On Linux nothing is
    polled."""
    lives = lives or (lambda: exists(pid))
    try:
        descriptor = _open_pidfd(pid)
    except ProcessLookupError:
        return
    if descriptor is None:
        while lives():  # noqa: ASYNC110  # there is no notification
            await asyncio.sleep(LOOKS_EVERY)
        return
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: ended.done() or ended.set_result(None))
    try:
        # Only now is it sure that what is watched is what was looked at: a pid may have got another owner before.
        if lives():
            await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None if the system doesn't have one. Raises
    ProcessLookupError."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None

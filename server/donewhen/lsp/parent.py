"""Whether the process that started the server is still there (`processId` of `initialize`)."""

from __future__ import annotations

import asyncio
import os
import sys

EVERY = 2.0
"""Seconds between two looks where the system can't tell of a process's end by itself."""


async def gone(pid: int) -> None:
    """Returns once no process has this pid, at once where none has; on Windows never. On Linux nothing is polled."""
    try:
        descriptor = _opened(pid)
    except ProcessLookupError:
        return
    if descriptor is None:
        while _exists(pid):  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(EVERY)
        return
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: ended.done() or ended.set_result(None))
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _opened(pid: int) -> int | None:
    """A descriptor that can be read once the process has ended; None where there is no such thing. Raises
    ProcessLookupError."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None


def _exists(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # asking would end it: there the end of input has to tell
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

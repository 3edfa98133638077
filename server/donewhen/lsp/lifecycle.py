"""`initialize`, `initialized` and `shutdown`: the beginning and the end of a session."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from pygls.exceptions import JsonRpcInvalidRequest

from donewhen.lsp.client_profile import read_profile

if TYPE_CHECKING:
    from lsprotocol import types

    from donewhen.lsp.session import Session

EVERY = 2.0
"""Seconds between two checks of a process, for systems that don't report its end."""


def initialize(session: Session, params: types.InitializeParams) -> None:
    """Answers at once, and imports nothing of the engine."""
    profile = read_profile(params)
    if session.guard is not None and not session.guard.admits(profile.token):
        # The answer goes out first.
        asyncio.get_running_loop().call_later(0.05, session.server.shutdown)
        raise JsonRpcInvalidRequest("initializationOptions.token is not the token that was printed")
    session.introduce(profile)
    pid = profile.process_id or session.host.client_process_id
    if pid is not None and session.guard is None:  # over TCP, runs outlive the client
        session.later(_end_with(session, pid), f"process {pid}")


async def initialized(session: Session, _: object) -> None:
    """The client is ready for messages."""
    await session.begin()
    from donewhen.lsp.workspaces import begin  # lazy, as every handler

    await begin(session)


async def shutdown(session: Session, _: object) -> None:
    """Ends what must not outlive the client; the answer is null."""
    await session.leave("the editor was closed, or restarted the server")


async def _end_with(session: Session, pid: int) -> None:
    """Acts as if the client's end of the streams had closed, since one of the client's children may keep it open."""
    await _gone(pid)
    session.server.shutdown()


async def _gone(pid: int) -> None:
    """Returns once no process has this pid, at once if there is none; on Windows never. On Linux nothing is polled."""
    try:
        descriptor = _opened(pid)
    except ProcessLookupError:
        return
    if descriptor is None:
        while _exists(pid):  # noqa: ASYNC110  # there is no notification
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


def _exists(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # the check would end it: there only the end of input shows it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

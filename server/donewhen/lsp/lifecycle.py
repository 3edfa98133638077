"""The beginning and the end of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from donewhen.lsp import failures
from donewhen.lsp.capabilities import initialize_result
from donewhen.lsp.client_profile import read_profile
from donewhen.lsp.failures import Refused

if TYPE_CHECKING:
    from donewhen.lsp.session import Session


def initialize(session: Session, params: object) -> dict[str, Any]:
    """Answers at once; nothing of the engine is imported for it."""
    profile = read_profile(params)
    if session.doorkeeper is not None and not session.doorkeeper.admits(profile.token):
        session.dismiss()
        raise Refused(failures.INVALID_REQUEST, "initializationOptions.token is not the token that was printed")
    session.introduce(profile)
    pid = profile.process_id or session.host.client_process_id
    if pid is not None and session.doorkeeper is None:  # over TCP runs outlive the client
        session.later(_end_with(session, pid), f"process {pid}")
    return initialize_result(profile.encoding, pull=profile.diagnostic_refresh)


async def _end_with(session: Session, pid: int) -> None:
    """As if the client's end of the streams had closed, which a child of it may keep open."""
    from donewhen.lsp.parent import gone

    await gone(pid)
    session.protocol.lost()


async def initialized(session: Session, _: object) -> None:
    """The client is ready to be told things."""
    await session.begin()
    from donewhen.lsp.workspaces import begin

    await begin(session)


async def shutdown(session: Session, _: object) -> None:
    """Ends what must not outlive the client; the answer is null."""
    await session.leave("the editor was closed, or restarted the server")


def ignore(_session: Session, _params: object) -> None:
    """Known, and of no consequence here."""

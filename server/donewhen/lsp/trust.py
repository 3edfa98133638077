"""What the client hands over besides documents: its trust and its secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from donewhen.lsp.strictness import SecretParams, TrustParams, read
from donewhen.lsp.workspaces import offer_to_resume

if TYPE_CHECKING:
    from donewhen.lsp.session import Session


async def changed(session: Session, params: Any) -> None:
    """`donewhen/didChangeTrust`: granted, or taken back; then what runs is paused."""
    session.host.trusted = read(TrustParams, params).trusted
    for folder in session.host.opened():
        if session.host.trusted:
            offer_to_resume(session, folder)
            await folder.runs.watch()
            continue
        for view in folder.board.newest_first():
            if view.state.active and view.owned:
                await folder.runs.pause(view.state.run_id, "the workspace is no longer trusted", "run")


def secret(session: Session, params: Any) -> None:
    """`donewhen/setSecret`: kept in memory, never stored, never traced; an empty value forgets it."""
    given = read(SecretParams, params)
    if given.value:
        session.host.secrets[given.name] = given.value
    else:
        session.host.secrets.pop(given.name, None)

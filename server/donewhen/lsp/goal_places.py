"""The goal file that a command names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygls.exceptions import JsonRpcInvalidParams

from donewhen.lsp.places import Place, required_path

if TYPE_CHECKING:
    from donewhen.lsp.session import Session


def goal_place(session: Session, uri: str) -> Place:
    """The goal file that a command names: any `.md`. Raises JsonRpcInvalidParams for what can't be one."""
    path = required_path(uri, "goalUri")
    if path.suffix.lower() != ".md":
        raise JsonRpcInvalidParams(
            f"goalUri: {path.name} is not a goal file: name a GOAL.md, a *.goal.md or another .md file"
        )
    session.texts.named(uri)
    return session.place(path)

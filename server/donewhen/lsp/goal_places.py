"""The goal file that a command names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from donewhen.lsp.failures import InvalidParams
from donewhen.lsp.places import Place, required_path

if TYPE_CHECKING:
    from donewhen.lsp.session import Session


def goal_place(session: Session, uri: str) -> Place:
    """The goal file that a command names: any `.md`. Raises InvalidParams for what can't be one."""
    path = required_path(uri, "goalUri")
    if path.suffix.lower() != ".md":
        raise InvalidParams(f"goalUri: {path.name} is not a goal file: name a GOAL.md, a *.goal.md or another .md file")
    session.texts.named(uri)
    return session.place(path)

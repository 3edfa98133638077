"""Snapshots as one client gets them: the contract's JSON, its columns in the client's encoding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from donewhen.lsp.places import file_path
from donewhen.wire.snapshot import Snapshot, snapshot
from donewhen.wire.view import view_of

if TYPE_CHECKING:
    from donewhen.engine.api import RunView
    from donewhen.lsp.session import Session
    from donewhen.lsp.texts import Texts


def snapshot_json(session: Session, view: RunView, root: Path) -> dict[str, Any]:
    """The snapshot of a run now, with its view for clients that take one."""
    texts = session.texts
    document = snapshot(view, root).model_dump(mode="json", by_alias=True)
    if view.state.goal.path is not None:
        document["goalUri"] = texts.uri(root / view.state.goal.path)
    for requirement in cast("list[dict[str, Any]]", document["requirements"]):
        for location in cast("list[dict[str, Any]]", requirement["locations"]):
            _convert(location, texts)
    for finding in cast("list[dict[str, Any]]", document["integrity"]):
        _convert(finding, texts)
    if session.profile.views:
        shown = view_of(Snapshot.model_validate(document))
        document["view"] = shown.model_dump(mode="json", by_alias=True)
    return document


def _convert(place: dict[str, Any], texts: Texts) -> None:
    path = file_path(place["uri"])
    if path is None:
        return
    for end in ("start", "end"):
        position = place["range"][end]
        position["character"] = texts.character(path, position["line"], position["character"])

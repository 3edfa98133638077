"""What follows for the views when documents are opened, changed, saved and closed; pygls keeps their texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.lsp.positions import Place, file_path, is_goal_file
from donewhen.lsp.workspaces import show_folder

if TYPE_CHECKING:
    from lsprotocol import types

    from donewhen.lsp.session import Session


def opened(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    """Shows the diagnostics of an opened goal file, and its folder's runs."""
    path = _named(session, params.text_document.uri)
    if path is not None:
        session.unsaved.opened(path, params.text_document.text)
        session.editor.reopened(path)
        session.editor_changed(path)
    if path is None or not is_goal_file(path):
        return
    place = session.place(path)
    session.goal_changed(place.root, place.path)
    session.later(show_folder(session, place.root), f"opening {place.root}")


def changed(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    """Removes the diagnostics on the lines of a changed file."""
    path = _named(session, params.text_document.uri)
    if path is not None:
        session.edited(path)
        session.editor_changed(path)
        _changed(session, path)


async def saved(session: Session, params: types.DidSaveTextDocumentParams) -> None:
    """A save by a person: the engine learns the text, and a goal in progress is amended."""
    path = _named(session, params.text_document.uri)
    document = session.documents.open(params.text_document.uri)
    text = params.text if params.text is not None else None if document is None else document.source
    if path is None:
        return
    session.discarded(path)
    if text is not None:
        session.unsaved.saved(path, text)
    session.editor_changed(path)
    place = session.place(path)
    folder = session.host.folder_if_open(place.root)
    if folder is not None and text is not None:
        folder.runs.saved_by_client(place.path, text)
        if is_goal_file(path):
            await folder.runs.amend(place.path)
    _changed(session, path)


def closed(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    """From now on the disk says what the file contains."""
    path = _named(session, params.text_document.uri)
    if path is None:
        return
    session.closed(path)
    session.unsaved.closed(path)
    session.editor.reopened(path)
    session.editor_changed(path)
    _changed(session, path)


def _named(session: Session, uri: str) -> Path | None:
    session.texts.named(uri)
    return file_path(uri)


def _changed(session: Session, path: Path) -> None:
    """Updates the goals that have diagnostics in this file."""
    place = session.place(path)
    if is_goal_file(path):
        session.goal_changed(place.root, place.path)
    for goal in _goals_that_name(session, place):
        session.goal_changed(place.root, goal)


def _goals_that_name(session: Session, place: Place) -> set[str]:
    folder = session.host.folder_if_open(place.root)
    if folder is None:
        return set()
    return {
        view.state.goal.path
        for view in folder.board.newest_first()
        if view.state.goal.path is not None
        and any(problem.path == place.path for problems in view.locations.values() for problem in problems)
    }

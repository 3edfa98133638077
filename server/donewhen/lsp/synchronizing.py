"""What the client tells: documents opened, changed, saved and closed, its trust, its secrets, its own diagnostics.

pygls keeps the documents' texts; what follows for the views is here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types

from donewhen.core.evidence import Problem, Severity
from donewhen.lsp.arguments import EditorDiagnosticsParams, SecretParams, TrustParams, read
from donewhen.lsp.diagnostics import SOURCE
from donewhen.lsp.lifecycle import offer_to_resume, show_folder
from donewhen.lsp.positions import file_path, from_client, is_goal_file, required_path
from donewhen.lsp.session import Session


def opened(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    """Shows the diagnostics of an opened goal file, and its folder's runs."""
    path = session.texts.named(params.text_document.uri)
    if path is None:
        return
    session.unsaved.note_opened(path, params.text_document.text)
    session.editor.reopened(path)
    session.editor_changed(path)
    if not is_goal_file(path):
        return
    place = session.place(path)
    session.host.readmit(place.root)
    session.views.goal_changed(place.root, place.path)
    session.later(show_folder(session, place.root), f"opening {place.root}")


def changed(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    """Removes the diagnostics on the lines of a changed file."""
    path = session.texts.named(params.text_document.uri)
    if path is not None:
        session.edited(path)
        session.editor_changed(path)
        _update_goals(session, path)


async def saved(session: Session, params: types.DidSaveTextDocumentParams) -> None:
    """A save by a person: the engine learns the text, and a goal in progress is amended."""
    path = session.texts.named(params.text_document.uri)
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
    _update_goals(session, path)


def closed(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    """From now on the disk says what the file contains."""
    path = session.texts.named(params.text_document.uri)
    if path is None:
        return
    session.closed(path)
    session.unsaved.closed(path)
    session.editor.reopened(path)
    session.editor_changed(path)
    _update_goals(session, path)
    if is_goal_file(path):
        session.release(session.place(path).root)


async def pull(session: Session, params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
    """`textDocument/diagnostic`: always the full report."""
    path = file_path(params.text_document.uri)
    items = []
    if path is not None:
        session.views.diagnostics.pulled(path)
        await session.views.settle_diagnostics()
        items = session.views.diagnostics.at(path)
    return types.RelatedFullDocumentDiagnosticReport(items)


def _update_goals(session: Session, path: Path) -> None:
    """Updates the goals that have diagnostics in this file."""
    place = session.place(path)
    if is_goal_file(path):
        session.views.goal_changed(place.root, place.path)
    folder = session.host.folder_if_open(place.root)
    if folder is None:
        return
    for view in folder.snapshots.newest_first():
        named = {problem.path for problems in view.locations.values() for problem in problems}
        if view.state.goal.path is not None and place.path in named:
            session.views.goal_changed(place.root, view.state.goal.path)


# What other tools say of a document, as the client forwards it.


SEVERITIES: dict[int, Severity] = {1: "error", 2: "warning"}


def editor_diagnostics(session: Session, params: Any) -> None:
    """`donewhen/editorDiagnostics`: the editor's diagnostics of one file from other tools; ours are left out."""
    given = read(EditorDiagnosticsParams, params)
    path = required_path(given.uri, "uri")
    lines = session.texts.lines(path) if given.diagnostics else []
    problems: list[Problem] = []
    for one in given.diagnostics:
        if one.source != SOURCE:
            start = one.range.start
            line = lines[start.line] if start.line < len(lines) else ""
            column = from_client(line, start.character, session.texts.encoding)
            severity = SEVERITIES.get(one.severity or 1, "information")
            problems.append(Problem("", start.line, one.message, column, severity, one.source or ""))
    if given.omitted:
        # One stands for those that were left out: at most as severe as the mildest that the client sent.
        sent = {one.severity for one in problems}
        mildest: Severity = "information" if "information" in sent else "warning" if "warning" in sent else "error"
        said = f"and {given.omitted} more, which the editor did not forward"
        problems.append(Problem("", 0, said, 0, mildest))
    if session.editor.forward(path, given.version, problems):
        session.editor_changed(path)


# What the client passes on besides documents: its trust and its secrets.


async def trust_changed(session: Session, params: Any) -> None:
    """`donewhen/didChangeTrust`: trust is granted or withdrawn; if it is withdrawn, active runs are paused."""
    session.host.trusted = read(TrustParams, params).trusted
    for folder in session.host.open_folders():
        if session.host.trusted:
            offer_to_resume(session, folder)
            await folder.runs.watch()
            continue
        for view in folder.snapshots.newest_first():
            if view.state.active and view.owned:
                await folder.runs.pause(view.state.run_id, "the workspace is no longer trusted", "run")


def secret(session: Session, params: Any) -> None:
    """`donewhen/setSecret`: kept in memory, never stored, never traced; an empty value forgets it."""
    given = read(SecretParams, params)
    if given.value:
        session.host.secrets[given.name] = given.value
    else:
        session.host.secrets.pop(given.name, None)

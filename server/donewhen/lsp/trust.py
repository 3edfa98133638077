"""What the client hands over besides documents: its trust, its secrets, its own diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from donewhen.core.evidence import Problem, Severity
from donewhen.lsp.diagnostics import SOURCE
from donewhen.lsp.places import required_path
from donewhen.lsp.positions import from_client
from donewhen.lsp.strictness import EditorDiagnostic, EditorDiagnosticsParams, SecretParams, TrustParams, read
from donewhen.lsp.workspaces import offer_to_resume

if TYPE_CHECKING:
    from pathlib import Path

    from donewhen.lsp.session import Session

SEVERITIES: dict[int, Severity] = {1: "error", 2: "warning"}


async def changed(session: Session, params: Any) -> None:
    """`donewhen/didChangeTrust`: granted, or taken back; then what runs is paused."""
    session.host.trusted = read(TrustParams, params).trusted
    for folder in session.host.opened():
        if session.host.trusted:
            offer_to_resume(session, folder)
            continue
        for view in folder.board.newest_first():
            if view.state.active and view.owned:
                await folder.runs.pause(view.state.run_id, "the workspace is no longer trusted")


def secret(session: Session, params: Any) -> None:
    """`donewhen/setSecret`: kept in memory, never stored, never traced; an empty value forgets it."""
    given = read(SecretParams, params)
    if given.value:
        session.host.secrets[given.name] = given.value
    else:
        session.host.secrets.pop(given.name, None)


def editor_diagnostics(session: Session, params: Any) -> None:
    """`donewhen/editorDiagnostics`: what the editor's other tools say about one file; ours are left out."""
    given = read(EditorDiagnosticsParams, params)
    path = required_path(given.uri, "uri")
    place = session.place(path)
    folder = session.host.folder_if_open(place.root)
    if folder is not None:
        problems = [_problem(session, path, place.path, one) for one in given.diagnostics if one.source != SOURCE]
        folder.runs.forward_diagnostics(place.path, given.version, problems)


def _problem(session: Session, path: Path, relative: str, one: EditorDiagnostic) -> Problem:
    start = one.range.start
    lines = session.texts.lines(path)
    line = lines[start.line] if start.line < len(lines) else ""
    column = from_client(line, start.character, session.texts.encoding)
    severity = SEVERITIES.get(one.severity or 1, "information")
    return Problem(relative, start.line, one.message, column, severity, one.source or "")

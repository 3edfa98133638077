"""What the client forwards besides documents: its trust, its secrets, and its own diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from donewhen.lsp.arguments import SecretParams, TrustParams, read
from donewhen.lsp.positions import file_path, from_client, required_path
from donewhen.lsp.workspaces import offer_to_resume

if TYPE_CHECKING:
    from pathlib import Path

    from donewhen.core.evidence import Problem, Severity
    from donewhen.lsp.arguments import EditorDiagnostic
    from donewhen.lsp.session import Session


# What the client passes on besides documents: its trust and its secrets.


async def changed(session: Session, params: Any) -> None:
    """`donewhen/didChangeTrust`: trust is granted or withdrawn; if it is withdrawn, active runs are paused."""
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


SEVERITIES: dict[int, Severity] = {1: "error", 2: "warning"}


async def editor_diagnostics(session: Session, params: Any) -> None:
    """`donewhen/editorDiagnostics`: the editor's diagnostics of one file from other tools; ours are left out."""
    uri: object = cast("dict[str, object]", params).get("uri") if isinstance(params, dict) else None
    known = file_path(uri) if isinstance(uri, str) else None
    opened = session.editor.openings(known)
    await session.begin()
    from donewhen.lsp.arguments import EditorDiagnosticsParams, read
    from donewhen.lsp.diagnostics import SOURCE

    given = read(EditorDiagnosticsParams, params)
    path = required_path(given.uri, "uri")
    problems = [_problem(session, path, one) for one in given.diagnostics if one.source != SOURCE]
    if given.omitted:
        problems.append(_omitted(problems, given.omitted))
    version = given.version if session.editor.openings(path) == opened else None
    if session.editor.forward(path, version, problems):
        session.editor_changed(path)


def _omitted(problems: list[Problem], count: int) -> Problem:
    """Stands for the omitted diagnostics: at most as severe as the mildest that the client sent."""
    from donewhen.core.evidence import Problem

    sent = {one.severity for one in problems}
    mildest: Severity = "information" if "information" in sent else "warning" if "warning" in sent else "error"
    return Problem("", 0, f"and {count} more, which the editor did not forward", 0, mildest)


def _problem(session: Session, path: Path, one: EditorDiagnostic) -> Problem:
    from donewhen.core.evidence import Problem

    start = one.range.start
    lines = session.texts.lines(path)
    line = lines[start.line] if start.line < len(lines) else ""
    column = from_client(line, start.character, session.texts.encoding)
    severity = SEVERITIES.get(one.severity or 1, "information")
    return Problem("", start.line, one.message, column, severity, one.source or "")

"""The client's own diagnostics, as it forwards them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from donewhen.lsp.places import file_path, required_path
from donewhen.lsp.positions import from_client

if TYPE_CHECKING:
    from pathlib import Path

    from donewhen.core.evidence import Problem, Severity
    from donewhen.lsp.session import Session
    from donewhen.lsp.strictness import EditorDiagnostic

SEVERITIES: dict[int, Severity] = {1: "error", 2: "warning"}


async def editor_diagnostics(session: Session, params: Any) -> None:
    """`donewhen/editorDiagnostics`: what the editor's other tools say about one file; ours are left out."""
    uri: object = cast("dict[str, object]", params).get("uri") if isinstance(params, dict) else None
    known = file_path(uri) if isinstance(uri, str) else None
    opened = session.editor.openings(known)
    await session.begin()
    from donewhen.lsp.diagnostics import SOURCE
    from donewhen.lsp.strictness import EditorDiagnosticsParams, read

    given = read(EditorDiagnosticsParams, params)
    path = required_path(given.uri, "uri")
    problems = [_problem(session, path, one) for one in given.diagnostics if one.source != SOURCE]
    if given.omitted:
        problems.append(_omitted(problems, given.omitted))
    version = given.version if session.editor.openings(path) == opened else None
    if session.editor.forward(path, version, problems):
        session.editor_changed(path)


def _omitted(problems: list[Problem], count: int) -> Problem:
    """What the client left out: at most as bad as the mildest that it sent."""
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

"""Definition: from a requirement to its evidence, and from a file that it names to that file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from donewhen.goalfile.source import Value
from donewhen.lsp.evidence_files import evidence_files
from donewhen.lsp.goal_view import GoalView, goal_view
from donewhen.lsp.links import matching

if TYPE_CHECKING:
    from donewhen.lsp.session import Session


async def definition(session: Session, params: types.DefinitionParams) -> list[types.Location]:
    """`textDocument/definition`: files first where the cursor is on one, else evidence, else files."""
    goal = await goal_view(session, params.text_document.uri)
    if goal is None:
        return []
    source = goal.requirement_at(params.position.line)
    if source is None:
        return []
    values = (*source.files, *source.problems)
    here = [value for value in values if _holds(value, params.position.line, goal.column(params.position))]
    if here:
        return await _files(goal, here)
    return await _evidence(session, goal, params.position.line) or await _files(goal, list(values))


async def _evidence(session: Session, goal: GoalView, line: int) -> list[types.Location]:
    source = goal.requirement_at(line)
    one = None if source is None else goal.status(source)
    return [] if one is None else [_location(file) for file in (await evidence_files(session, goal, one)).values()]


async def _files(goal: GoalView, values: list[Value]) -> list[types.Location]:
    globs = [value.text for value in values]
    return [_location(path) for path in await asyncio.to_thread(matching, goal.place.root, globs)]


def _holds(value: Value, line: int, column: int) -> bool:
    span = value.span
    return (span.start_line, span.start_column) <= (line, column) <= (span.end_line, span.end_column)


def _location(path: Path) -> types.Location:
    return types.Location(path.as_uri(), types.Range(types.Position(0, 0), types.Position(0, 0)))

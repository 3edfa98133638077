"""Document symbols: the goal, and its requirements in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from donewhen.lsp.goal_view import GoalView, goal_view

if TYPE_CHECKING:
    from donewhen.lsp.session import Session

MAX_NAME = 120


async def symbols(
    session: Session, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
    """`textDocument/documentSymbol`: a tree, or a flat list for clients that don't support trees."""
    goal = await goal_view(session, params.text_document.uri)
    if goal is None:
        return []
    if session.profile.hierarchical_symbols:
        return goal_symbols(goal)
    return [
        types.SymbolInformation(types.Location(goal.uri, one.range), one.name, one.kind)
        for one in requirement_symbols(goal)
    ]


def goal_symbols(goal: GoalView) -> list[types.DocumentSymbol]:
    """The title with its requirements below; the requirements alone if there is no title."""
    children = requirement_symbols(goal)
    title = goal.parsed.title_span
    if title is None:
        return children
    last = max((source.span.end_line for source in goal.parsed.requirements), default=title.end_line)
    whole = types.Range(goal.position(title.start_line, 0), goal.position(max(last, title.end_line)))
    name = _short(goal.parsed.title) or "Goal"
    return [types.DocumentSymbol(name, types.SymbolKind.Module, whole, goal.range(title), children=children)]


def requirement_symbols(goal: GoalView) -> list[types.DocumentSymbol]:
    found: list[types.DocumentSymbol] = []
    for source in goal.parsed.requirements:
        one = goal.status(source)
        name = f"{source.requirement.label} {_short(source.requirement.text)}"
        detail = None if one is None else one.status
        span, selection = goal.range(source.span), goal.range(source.text_span)
        found.append(types.DocumentSymbol(name, types.SymbolKind.Boolean, span, selection, detail=detail))
    return found


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_NAME else line[: MAX_NAME - 1] + "…"

"""Inlay hints: each requirement's status at the end of its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from donewhen.lsp.goal_view import GoalView, goal_view

if TYPE_CHECKING:
    from donewhen.lsp.session import Session

SIGNS = {"met": "✓", "waived": "~", "unmet": "✗", "stale": "…", "unverified": "?", "regressed": "✗"}


async def hints(session: Session, params: types.InlayHintParams) -> list[types.InlayHint]:
    """`textDocument/inlayHint`."""
    goal = await goal_view(session, params.text_document.uri)
    return [] if goal is None else goal_hints(goal, params.range.start.line, params.range.end.line)


def goal_hints(goal: GoalView, first: int, last: int) -> list[types.InlayHint]:
    """The hints on the lines from `first` to `last`, both included."""
    found: list[types.InlayHint] = []
    for source in goal.parsed.requirements:
        one = goal.status(source)
        line = source.text_span.end_line
        if one is not None and first <= line <= last:
            text = f"{SIGNS[one.status]} {one.status}" + (" …" if one.renewing else "")
            hint = types.InlayHint(goal.position(line), text, padding_left=True, tooltip=one.reason or None)
            found.append(hint)
    return found

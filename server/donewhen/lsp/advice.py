"""What a model has to say about a goal before a run: requirements that it proposes, hints that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.core.errors import DoneWhenError, GoalFileError, UsageError
from donewhen.lsp.goal_places import goal_place

if TYPE_CHECKING:
    from donewhen.lsp import arguments as a
    from donewhen.lsp.goal_text import GoalHint
    from donewhen.lsp.session import Session


async def proposed(session: Session, root: Path, objective: str, checks: Sequence[str]) -> tuple[list[str], str | None]:
    """Requirements for an objective, and the model that proposed them. None of both where no model is configured, the
    workspace isn't trusted, the person cancelled it, or the model can't be asked: which is said."""
    if not session.host.trusted:
        return [], None
    try:
        async with session.host.services.open_adviser(session.wanted(root)) as adviser:
            if adviser is None:
                return [], None
            title = f"Asking {adviser.model} for requirements"
            found = await session.errands.run(title, adviser.propose(objective, checks))
            return list(found or ()), adviser.model
    except DoneWhenError as failed:
        _say(session, f"No requirements are proposed: {failed}")
        return [], None


async def preflight(session: Session, argument: a.GoalUri) -> dict[str, Any]:
    """`donewhen.goal.preflight`: hints on the goal file as the editor shows it. Nothing is started."""
    place = goal_place(session, argument.goal_uri)
    text = session.texts.text(place.absolute)
    if text is None:
        raise UsageError(f"{place.path} can't be read")
    features = await session.features()
    broken = [one.message for one in features.parse(text, place.path).problems if one.severity == "error"]
    if broken:
        raise GoalFileError(broken[0])
    hints = [*features.hints(text, place.path), *await _models_hints(session, place.root, text)]
    return {"hints": [{"requirementId": h.requirement_id, "number": h.number, "message": h.message} for h in hints]}


async def _models_hints(session: Session, root: Path, text: str) -> Sequence[GoalHint]:
    if not session.host.trusted:
        return ()
    try:
        async with session.host.services.open_adviser(session.wanted(root)) as adviser:
            if adviser is None:
                return ()
            return await session.errands.run(f"Asking {adviser.model} for hints", adviser.hints(text)) or ()
    except DoneWhenError as failed:
        _say(session, f"The model gave no hints: {failed}")
        return ()


def _say(session: Session, message: str) -> None:
    session.protocol.notify("window/showMessage", {"type": 2, "message": message})

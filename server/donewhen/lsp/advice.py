"""What a model has to say about a goal before a run: requirements that it proposes, hints that it gives."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lsprotocol import types

from donewhen.app.surroundings import plugins_there
from donewhen.core.errors import DoneWhenError, GoalFileError, UsageError
from donewhen.goalfile.files import goal_name
from donewhen.goalfile.parse import parse
from donewhen.goalfile.preflight import hints_of
from donewhen.lsp.goal_places import goal_place
from donewhen.lsp.markup import MARKDOWN
from donewhen.lsp.opening import open_adviser
from donewhen.lsp.progress import with_progress
from donewhen.wire.spent import spent_json

if TYPE_CHECKING:
    from donewhen.app.services import Adviser
    from donewhen.core.work import Usage
    from donewhen.lsp import arguments as a
    from donewhen.lsp.session import Session

SaidT = TypeVar("SaidT")


@dataclass(frozen=True, slots=True)
class Proposal:
    """Requirements that `model` proposed; `spent` is None if it was not asked."""

    requirements: Sequence[str] = ()
    model: str | None = None
    spent: Usage | None = None


async def proposed(session: Session, root: Path, objective: str, checks: Sequence[str]) -> Proposal:
    """Requirements for an objective. None, and no model, where none is configured, the workspace isn't trusted, the
    person cancelled it, or the model can't be asked: which is said."""
    title = "Asking {model} for requirements"
    advice = await _asked(session, root, title, lambda adviser: adviser.propose(objective, checks))
    if advice.failed is not None:
        _say(session, f"No requirements are proposed: {advice.failed}")
    return Proposal(advice.said, advice.model if advice.failed is None else None, advice.spent)


async def preflight(session: Session, argument: a.GoalUri) -> dict[str, Any]:
    """`donewhen.goal.preflight`: hints on the goal file as the editor shows it. Nothing is started."""
    place = goal_place(session, argument.goal_uri)
    text = session.texts.text(place.absolute)
    if text is None:
        raise UsageError(f"{place.path} can't be read")
    parsed = parse(text, path=place.path, name=goal_name(place.path), plugged=plugins_there)
    if parsed.errors:
        raise GoalFileError(parsed.errors[0].message)
    advice = await _asked(session, place.root, "Asking {model} for hints", lambda adviser: adviser.hints(text))
    if advice.failed is not None:
        _say(session, f"The model gave no hints: {advice.failed}")
    hints = [*hints_of(parsed), *advice.said]
    told = [{"requirementId": h.requirement_id, "number": h.number, "message": h.message} for h in hints]
    return {"hints": told, **cost_of(advice.spent)}


def cost_of(spent: Usage | None) -> dict[str, Any]:
    """The field `cost` of a result; absent where no model was asked."""
    return {} if spent is None else {"cost": spent_json(spent)}


@dataclass(slots=True)
class _Advice(Generic[SaidT]):
    """What asking gave. `spent` is counted also where it failed or was cancelled: it was asked."""

    said: Sequence[SaidT] = ()
    model: str | None = None
    spent: Usage | None = None
    failed: DoneWhenError | None = None


async def _asked(
    session: Session, root: Path, title: str, ask: Callable[[Adviser], Coroutine[Any, Any, Sequence[SaidT]]]
) -> _Advice[SaidT]:
    advice: _Advice[SaidT] = _Advice()
    if not session.host.trusted:
        return advice
    try:
        async with open_adviser(session.host.services, session.wanted(root)) as adviser:
            if adviser is None:
                return advice
            advice.model = adviser.model
            try:
                advice.said = await with_progress(session, title.format(model=adviser.model), ask(adviser)) or ()
            finally:
                advice.spent = adviser.spent
    except DoneWhenError as failed:
        advice.failed = failed
    return advice


def _say(session: Session, message: str) -> None:
    # A provider's words are in it, of which VS Code would make links.
    session.say(types.MessageType.Warning, MARKDOWN.prose(message))

"""What a callable worker is told: objective, where things stand, feedback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from donewhen.core.errors import UsageError
from donewhen.core.goal import Check, Goal
from donewhen.ports import Turn
from donewhen.workers.prompt import ANSWERS_HEADING, FEEDBACK_HEADING, REVIEW_HEADING, item, turn_prompt


def prompt_of(turn: Turn, *, first: bool = False) -> str:
    """All that a worker needs to know for one turn, also one that remembers nothing of the turns before. `first`: as
    the run's first turn would have it."""
    if turn.goal.about == "workspace":
        return "\n\n".join([turn_prompt(turn), *turn.notes])
    told = [objective_of(turn.goal)]
    if not first and turn.feedback and turn.feedback.strip():
        heading = REVIEW_HEADING if turn.refinement else FEEDBACK_HEADING
        told.append(f"{heading}\n{turn.feedback.strip()}")
    if turn.answers and not first:
        told.append("\n".join([ANSWERS_HEADING, *map(item, turn.answers)]))
    return "\n\n".join([*told, *turn.notes])


def objective_of(goal: Goal) -> str:
    """The objective in the caller's own words, and what it has to prove where that is more than these."""
    words = goal.objective.strip() or goal.title.strip()
    known = {" ".join(text.split()) for text in (words, goal.title)}
    named = [one for one in goal.requirements if one.text not in known and not _validators_alone(one.checks)]
    if not named:
        return words
    return "\n".join([f"{words}\n", "What has to be proven:", *(f"- {one.label}: {one.text}" for one in named)])


def _validators_alone(checks: Sequence[Check]) -> bool:
    """A validator's name tells a worker nothing; its feedback does."""
    return bool(checks) and all(check.kind == "validator" for check in checks)


def retry_made_by(template: Callable[[str | None], Any], feedback: str | None) -> Any:
    """What a caller's template makes of the feedback: a text that is not blank, or content blocks. Raises
    UsageError for anything else, and where it fails."""
    try:
        made = template(feedback)
    except Exception as error:
        raise UsageError(f"resume_prompt_template failed: {type(error).__name__}: {error}") from error
    if isinstance(made, str) and made.strip():
        return made
    if isinstance(made, list) and made:
        return made  # pyright: ignore[reportUnknownVariableType]  # the caller's content blocks
    raise UsageError(f"resume_prompt_template must return text or a list of content blocks; it returned {made!r}")

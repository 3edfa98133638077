"""The vocabulary of a goal loop about a response: outcomes of validators, attempts, results, and retry prompts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from donewhen.core.events import END_STATUSES
from donewhen.core.feedback import keep_ends
from donewhen.core.plugging import Halted
from donewhen.core.state import RunState
from donewhen.core.verdict import RequirementView
from donewhen.workers.callables.workers import as_text

StopReason = Literal[
    "satisfied", "max_attempts", "timeout", "cancelled", "crashed", "over_budget", "stalled", "blocked", "impossible",
    "paused",
]  # fmt: skip
"""Why a goal loop ended; `paused`: the judge could not be asked, or a plugin halted it."""
_STOP_REASONS: dict[str, StopReason] = {"complete": "satisfied", "capped": "max_attempts", "timed_out": "timeout"}

RetryPrompt = Callable[[str | None], Any]
"""Makes the worker's retry prompt from the feedback, None if there is none: a text or content blocks."""

MAX_EARLIER = 8_000
_NO_FEEDBACK = "the validator says no"


@dataclass(frozen=True, slots=True)
class ValidationOutcome:
    """What a validator may return: whether the response passed, and what the next attempt should know if not.

    >>> from donewhen import ValidationOutcome
    >>> ValidationOutcome(False, feedback="Too long: cap it at 50 words.").passed
    False
    """

    passed: bool
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class GoalAttempt:
    """One attempt: a turn of the worker and what was found in its response. `error` is set if the turn failed: then
    nothing was judged.

    >>> from donewhen import GoalAttempt
    >>> GoalAttempt(1, passed=False, feedback="Too long", response="Well, ...").number
    1
    """

    attempt: int
    passed: bool
    feedback: str | None = None
    response: Any = None
    error: str | None = None

    @property
    def number(self) -> int:
        """Counted from 1."""
        return self.attempt


@dataclass(frozen=True, slots=True)
class GoalResult:
    """How a goal loop ended. `stop_reason` is "satisfied", "max_attempts", "timeout", "cancelled", "crashed", ...;
    `reason` says it in words; `halt` comes from the plugin that stopped it: its name, its reason, and its data.

    >>> from donewhen import GoalAttempt, GoalResult
    >>> GoalResult(True, "satisfied", [GoalAttempt(1, True)]).attempts[-1].passed
    True
    """

    passed: bool
    stop_reason: StopReason
    attempts: list[GoalAttempt] = field(default_factory=list[GoalAttempt])
    reason: str = ""
    halt: Halted | None = None


def stop_reason_of(state: RunState) -> StopReason:
    """The engine's status in the terms of a goal loop."""
    status = state.status or "cancelled"
    if (
        status == "paused"
        and state.last_turn.claim is not None
        and state.last_turn.claim.state in ("blocked", "impossible")
    ):
        return state.last_turn.claim.state  # nobody was there to confirm it
    named = _STOP_REASONS.get(status)
    if named is not None:
        return named
    return status if status in END_STATUSES else "paused"  # type: ignore[return-value]  # the rest have the same names


def feedback_of(views: tuple[RequirementView, ...], checks: tuple[str, ...]) -> str | None:
    """What the next attempt should know: the reasons for everything unmet, in the words of the judge or of the
    validator; None if there are none. `checks` are the names of validators, which no worker needs to know."""
    reasons = [_bare(view.reason, checks) for view in views if view.status not in ("met", "waived")]
    told = [reason for reason in reasons if reason and reason != _NO_FEEDBACK]
    return "\n".join(dict.fromkeys(told)) or None


def _bare(reason: str, checks: tuple[str, ...]) -> str:
    for name in checks:
        reason = reason.removeprefix(f"`{name}`: ")
    return reason.strip()


def retry_prompt(feedback: str | None) -> str:
    """The worker's retry prompt if nobody gave a template."""
    if feedback is None:
        return "Your last answer does not meet the goal yet. Give a better one, complete in itself."
    return (
        f"Your last answer does not meet the goal yet:\n{feedback}\n\n"
        "Give a better answer, complete in itself; keep what was right about it."
    )


def fresh_prompt(feedback: str | None) -> str:
    """Like `retry_prompt`, for a worker whose earlier answers were removed."""
    if feedback is None:
        return "An earlier answer did not meet the goal. Give one that does, complete in itself."
    return f"An earlier answer did not meet the goal:\n{feedback}\n\nGive one that does, complete in itself."


def joined(first: Any, then: Any) -> Any:
    """Two prompts as one: a text if both are texts, else content blocks."""
    if isinstance(first, str) and isinstance(then, str):
        return f"{first}\n\n{then}"
    return [*_blocks(first), *_blocks(then)]


def with_earlier(prompt: Any, response: Any, retry: str) -> Any:
    """For a worker without memory: its task, its answer, and why that is not enough."""
    if response is None:
        return joined(prompt, retry)
    answer = keep_ends(as_text(response), MAX_EARLIER)
    return joined(joined(prompt, f"Your last answer was:\n{answer}"), retry)


def _blocks(prompt: Any) -> list[Any]:
    return list(prompt) if isinstance(prompt, list) else [{"text": prompt if isinstance(prompt, str) else str(prompt)}]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # the caller's content blocks

"""What a Python callable that proves something says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from donewhen.core.evidence import Outcome


def judged(found: Any) -> tuple[Outcome, str]:
    """What a validator's value says. Nothing is coerced: a value of any other type is an error, never a pass."""
    passed, feedback = found, None
    if isinstance(found, Mapping):
        record = cast("Mapping[str, Any]", found)
        passed, feedback = record.get("passed"), record.get("feedback")
    elif not isinstance(found, bool) and hasattr(found, "passed"):
        passed, feedback = found.passed, getattr(found, "feedback", None)
    if not isinstance(passed, bool) or not (feedback is None or isinstance(feedback, str)):
        return Outcome.NOT_RUN, f"the validator returned {found!r}: True, False, or `passed` and `feedback` is expected"
    return (Outcome.PASSED, "passed") if passed else (Outcome.FAILED, feedback or "the validator says no")

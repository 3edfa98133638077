"""The names that `donewhen` exports of the look-alikes."""

from __future__ import annotations

import donewhen
from donewhen.extras import PUBLIC, lookalikes

NAMES = [
    "GoalAttempt", "GoalContinue", "GoalController", "GoalDone", "GoalLoop", "GoalMiddleware", "GoalResult",
    "ValidationOutcome",
]  # fmt: skip


def test_they_are_where_they_have_always_been() -> None:
    assert set(NAMES) <= set(PUBLIC)
    for name in NAMES:
        assert getattr(donewhen, name) is getattr(lookalikes, name)
        assert name in donewhen.__all__

"""Detects a worker that goes round in circles: the same calls with the same results, over and over."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Literal

ROUNDS = 3
"""How many rounds make a circle."""
LONGEST_CIRCLE = 4
MAX_NUDGES = 5


class Loops:
    """Watches the calls of one turn. The first circle is worth a nudge; after the second, or after too many nudges, the
    turn should end."""

    def __init__(self) -> None:
        self._latest: deque[Hashable] = deque(maxlen=ROUNDS * LONGEST_CIRCLE)
        self._nudged: set[frozenset[Hashable]] = set()
        self._nudges = 0

    def heard(self, call: Hashable) -> Literal["nudge", "end"] | None:
        """One call with its result, as a key: equal for calls that are the same."""
        self._latest.append(call)
        circle = self._circle()
        if circle is None:
            return None
        self._latest.clear()
        self._nudges += 1
        if circle in self._nudged or self._nudges > MAX_NUDGES:
            return "end"
        self._nudged.add(circle)
        return "nudge"

    def _circle(self) -> frozenset[Hashable] | None:
        calls = list(self._latest)
        for length in range(1, LONGEST_CIRCLE + 1):
            tail = calls[-ROUNDS * length :]
            if len(tail) == ROUNDS * length and tail == tail[-length:] * ROUNDS:
                return frozenset(tail)
        return None

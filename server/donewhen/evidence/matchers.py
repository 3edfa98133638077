"""Places in output."""

from __future__ import annotations

from donewhen.core.evidence import Problem
from donewhen.evidence.places import Places


def find_problems(output: str, places: Places) -> tuple[Problem, ...]:
    """The places that the output names."""
    return ()

"""What traces runs: an extra does, where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from donewhen.extras import provided
from donewhen.ports import NoTracer, Tracer


def make_tracer(environment: Mapping[str, str], mask: Callable[[str], str]) -> Tracer:
    """What the environment asks for; what an extra traces is masked."""
    make = provided("make_tracer")
    return NoTracer() if make is None else make(environment, mask)

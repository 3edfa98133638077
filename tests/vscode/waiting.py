"""Waiting for what a window shows: never for a fixed time, always with a word on what was expected."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds, for a busy machine: what is waited for comes within one as a rule."""


def until(
    probe: Callable[[], T | None], what: str, within: float = PATIENCE, pause: Callable[[float], None] = time.sleep
) -> T:
    """The first true value that the probe gives. Raises AssertionError with its last value when none comes in time."""
    deadline = time.monotonic() + within
    while True:
        value = probe()
        if value:
            return value
        assert time.monotonic() < deadline, f"after {within:g} s still not {what}; last: {value!r}"
        pause(0.05)

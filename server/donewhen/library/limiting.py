"""Limits of goal loops as callers write them: finite, or unlimited on purpose (C1)."""

from __future__ import annotations

import math
import warnings
from typing import Any

from donewhen.core.errors import InvalidGoal
from donewhen.core.goal import Limits
from donewhen.library.arguments import duration

_LONGEST_CHECK = 86_400.0


def attempts(name: str, value: Any) -> int | None:
    """How often, None where it is unlimited, which warns. Raises InvalidGoal that names the field."""
    if _is_open(name, value):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidGoal(f"{name} must be a whole number of at least 1, or unlimited; it is {value!r}")
    return value


def seconds(name: str, value: Any) -> float | None:
    """How long, None where it is unlimited, which warns. Raises InvalidGoal that names the field."""
    if _is_open(name, value):
        return None
    value = duration(name, value)
    # `not value > 0` also refuses NaN.
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise InvalidGoal(f"{name} must be a number of seconds greater than 0, or unlimited; it is {value!r}")
    return float(value)


def limits(rounds: int | None, timeout: float | None) -> Limits:
    """The limits of one run. An answer that stays the same is no reason to stop asking (A14: off in the library), and a
    validator may take as long as the run."""
    return Limits(rounds, timeout, check_timeout=timeout or _LONGEST_CHECK, stall_after=None)


def _is_open(name: str, value: Any) -> bool:
    if value != "unlimited" and not (isinstance(value, float) and value == math.inf):
        return False
    # The caller of the constructor that was given the value.
    warnings.warn(f"there is no limit of {name}: this may go on for ever", UserWarning, stacklevel=4)
    return True

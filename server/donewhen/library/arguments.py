"""Checks callers' arguments before anything starts: an unusable value is refused by the argument's name."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.core.goal import Limits
from donewhen.regular import expanded, homeless

Time = float | str
"""Seconds, or a text such as "90s", "30m" or "1h30m"."""


def checked(label: str, setting: str, value: Any) -> Any:
    """The value in the form of the setting with that name; times may be seconds. Raises InvalidGoal, or UsageError for
    a choice; the error calls it `label`."""
    from donewhen.settings.kinds import DURATION, BadValue  # lazy: start-up time, as the table
    from donewhen.settings.table import BY_NAME

    row = BY_NAME[setting]
    if row.kind.choices and value not in row.kind.choices:
        raise UsageError(
            f"{label} must be one of {', '.join(sorted(row.kind.choices))}; it is {_value_in_words(value)}"
        )
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if row.kind is DURATION and number and value > 0 and value != math.inf:
        return float(value)
    try:
        return row.read_typed(value)
    except BadValue as bad:
        what = str(bad).replace("a time such", "a number of seconds greater than 0, or a time such")
        raise InvalidGoal(f"{label} {what}") from None


def duration(name: str, value: Any) -> Any:
    """A time as seconds, or `unlimited`; None stays None. Raises InvalidGoal."""
    return None if value is None else checked(name, name, value)


def several(name: str, value: Any) -> tuple[Any, ...]:
    """The members of a sequence. A text is refused: it would be read letter by letter."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise UsageError(f"{name} is a sequence: {name}=[...]; it is {_value_in_words(value)}")
    return tuple(cast("Iterable[Any]", value))


def folder(name: str, value: Any) -> Path | None:
    """A path, or None if there is none."""
    if value is None:
        return None
    named = os.fspath(value) if isinstance(value, os.PathLike) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not isinstance(named, str) or not named.strip() or "\0" in named:
        raise UsageError(f'{name} must be the path of a folder, such as "." or a Path; it is {_value_in_words(value)}')
    return Path(named)


def resolved(name: str, value: Any) -> Path | None:
    """Like `folder`, but absolute, without links, and with `~` expanded."""
    place = folder(name, value)
    if place is None:
        return None
    found = expanded(place)
    if homeless(found):
        raise UsageError(f"{name} is in a home folder that this system doesn't know: set HOME, or give it in full")
    return found.resolve()


def flag(name: str, value: Any) -> bool:
    """A real boolean only: a text such as "no" would count as true."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False; it is {_value_in_words(value)}")
    return value


def callback(name: str, value: Any) -> Callable[..., Any] | None:
    """Something to call, or None."""
    if value is not None and not callable(value):
        raise UsageError(f"{name} must be a function, or None; it is {_value_in_words(value)}")
    return value


def text_or_none(name: str, value: Any) -> None:
    """A text, or None. The value isn't shown, because it may be a secret."""
    if value is not None and not isinstance(value, str):
        raise InvalidGoal(f"{name} must be text, or None; it is {type(value).__name__}")


def _value_in_words(value: Any) -> str:
    return f"{value!r:.80}" if isinstance(value, str | int | float | None) else type(value).__name__


_LONGEST_CHECK = 86_400.0


def finite(name: str, setting: str, value: Any) -> Any:
    """A limit of a goal loop, named by its setting; None if it is unlimited or infinite on purpose, which warns. Raises
    InvalidGoal that names the limit."""
    if value != "unlimited" and not (isinstance(value, float) and value == math.inf):
        return checked(name, setting, value)
    # The level of whoever called the constructor with this value.
    warnings.warn(f"there is no limit on {name}: this may run forever", UserWarning, stacklevel=3)
    return None


def limits(rounds: int | None, timeout: float | None) -> Limits:
    """The limits of one run. An unchanged answer is not a reason to stop asking (off in the library), and a validator
    may take as long as the run."""
    return Limits(rounds, timeout, check_timeout=timeout or _LONGEST_CHECK, stall_after=None)

"""What callers give, looked at before anything starts: whatever can't be used is refused by the argument's name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from donewhen.core.errors import InvalidGoal, UsageError

Time = float | str
"""Seconds, or a text such as "90s", "30m" or "1h30m"."""


def duration(name: str, value: Any) -> Any:
    """A time as seconds; what is no text, and `unlimited`, as it is. Raises InvalidGoal for any other text."""
    if not isinstance(value, str) or value == "unlimited":
        return value
    from donewhen.config.values import parse_duration  # lazy: most callers give numbers

    found = parse_duration(value)
    if found is None:
        raise InvalidGoal(
            f'{name} must be a number of seconds greater than 0, a time such as "90s" or "30m", or unlimited; it is '
            f"{_shown(value)}"
        )
    return found


def several(name: str, value: Any) -> tuple[Any, ...]:
    """The members of a sequence. A text is none: it would be read letter by letter."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise UsageError(f"{name} is a sequence: {name}=[...]; it is {_shown(value)}")
    return tuple(cast("Iterable[Any]", value))


def folder(name: str, value: Any) -> Path | None:
    """A path, or None where there is none."""
    if value is None:
        return None
    named = os.fspath(value) if isinstance(value, os.PathLike) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not isinstance(named, str) or not named.strip() or "\0" in named:
        raise UsageError(f'{name} must be the path of a folder, such as "." or a Path; it is {_shown(value)}')
    return Path(named)


def resolved(name: str, value: Any) -> Path | None:
    """As `folder`, absolute, without links, and with `~` as the user's own."""
    place = folder(name, value)
    return None if place is None else place.expanduser().resolve()


def flag(name: str, value: Any) -> bool:
    """Strictly: a text such as "no" would count as true."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False; it is {_shown(value)}")
    return value


def callback(name: str, value: Any) -> Callable[..., Any] | None:
    """Something to call, or None."""
    if value is not None and not callable(value):
        raise UsageError(f"{name} must be a function, or None; it is {_shown(value)}")
    return value


def choice(name: str, value: Any, choices: Sequence[str]) -> Any:
    """One of these texts."""
    if not isinstance(value, str) or value not in choices:
        raise UsageError(f"{name} must be one of {', '.join(choices)}; it is {_shown(value)}")
    return value


def whole(name: str, value: Any, least: int) -> None:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidGoal(f"{name} must be a whole number of at least {least}; it is {_shown(value)}")


def temperature(name: str, value: Any) -> None:
    """A finite number, or None."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and math.isfinite(value)):
        raise InvalidGoal(f"{name} must be a number; it is {_shown(value)}")


def text_or_none(name: str, value: Any) -> None:
    """A text, or None. It may be a secret: it isn't shown."""
    if value is not None and not isinstance(value, str):
        raise InvalidGoal(f"{name} must be a text, or None; it is {type(value).__name__}")


def _shown(value: Any) -> str:
    return f"{value!r:.80}" if isinstance(value, str | int | float | None) else type(value).__name__

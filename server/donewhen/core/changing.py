"""A faster `dataclasses.replace`, for values that change often."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, TypeVar, cast

T = TypeVar("T")

VIEWS = "_views"
"""Where a state keeps what was worked out of it (`proof.assess`): no field, and of no copy."""


def replace(value: T, **changes: Any) -> T:
    """A copy with these fields changed, as `dataclasses.replace`. A value that keeps its fields in a dict (`RunState`,
    with forty of them) is copied as a whole: several times per event that makes a difference."""
    fields = getattr(value, "__dict__", None)
    if fields is None or not _only_sets_fields(type(value)):
        return cast("T", dataclasses.replace(cast("Any", value), **changes))
    unknown = changes.keys() - fields.keys()
    if unknown:
        raise TypeError(f"{type(value).__name__} has no field {', '.join(sorted(unknown))}")
    copy = object.__new__(type(value))
    copy.__dict__.update(fields, **changes)
    copy.__dict__.pop(VIEWS, None)
    return copy


@cache
def _only_sets_fields(kind: type[Any]) -> bool:
    """True if creating one only sets its fields."""
    return not hasattr(kind, "__post_init__")

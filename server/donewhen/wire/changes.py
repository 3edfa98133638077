"""What differs between two JSON documents, as operations of JSON Patch (RFC 6902): snapshots of a run are large, and
little of one changes at a time."""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from typing import Any, TypeAlias, cast

Json: TypeAlias = Any
"""What `json.loads` returns."""
Operation: TypeAlias = dict[str, Any]
"""`{op, path, value}` with op `add` or `replace`, or `{op, path}` with op `remove`; `path` is a JSON pointer."""


def changes(before: Json, after: Json) -> list[Operation]:
    """The operations that make `after` of `before`, to be applied in their order. The value of one may be a part of
    `after`, and is not to be changed. Two documents of different kinds differ as a whole, at the path ``""``."""
    return list(_changes(before, after, ""))


def _changes(before: Json, after: Json, path: str) -> Iterator[Operation]:
    if _same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_objects(cast("dict[str, Json]", before), cast("dict[str, Json]", after), path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(cast("list[Json]", before), cast("list[Json]", after), path)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _of_objects(before: dict[str, Json], after: dict[str, Json], path: str) -> Iterator[Operation]:
    for key in before:
        if key not in after:
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in after.items():
        place = f"{path}/{_escaped(key)}"
        if key in before:
            yield from _changes(before[key], value, place)
        else:
            yield {"op": "add", "path": place, "value": value}


def _of_lists(before: list[Json], after: list[Json], path: str) -> Iterator[Operation]:
    """What is the same at both ends stays; what is between is compared one by one, then put in or taken out."""
    shorter = min(len(before), len(after))
    first = 0
    while first < shorter and _same(before[first], after[first]):
        first += 1
    last = 0
    while last < shorter - first and _same(before[-1 - last], after[-1 - last]):
        last += 1
    paired = shorter - last
    for index in range(first, paired):
        yield from _changes(before[index], after[index], f"{path}/{index}")
    for index in range(len(before) - last - 1, paired - 1, -1):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for index in range(paired, len(after) - last):
        yield {"op": "add", "path": f"{path}/{index}", "value": after[index]}


def _same(one: Json, other: Json) -> bool:
    """As JSON has it, where 1 is not true: Python takes them for equal."""
    return one is other or (one == other and marshal.dumps(one, 2) == marshal.dumps(other, 2))


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")

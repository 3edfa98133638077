"""What a client does with changes: JSON Patch (RFC 6902), as far as `wire.changes` writes it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any


def applied(document: Any, operations: Sequence[dict[str, Any]]) -> Any:
    """The document after the operations; the one that was given stays as it is."""
    root = {"": copy.deepcopy(document)}
    for one in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in f"{one['path']}".split("/")]
        inside: Any = root
        for part in way:
            inside = inside[int(part) if isinstance(inside, list) else part]
        match one["op"]:
            case "remove":
                del inside[int(last) if isinstance(inside, list) else last]
            case "add" if isinstance(inside, list):
                inside.insert(int(last), one["value"])
            case "add" | "replace":
                inside[int(last) if isinstance(inside, list) else last] = one["value"]
            case other:
                raise ValueError(other)
    return root[""]

"""Params that no method can take: no object or list, or with the uri of a file that no file can have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, cast

from donewhen.lsp.failures import InvalidParams

_NAMED = re.compile(r"(?:^|[a-z])uris?$|^(?:root|file)?[pP]aths?$", re.IGNORECASE)


def refuse_unusable(params: object) -> None:
    """Raises InvalidParams, which names the field. Looks at fields that hold uris or paths, at any depth."""
    if params is not None and not isinstance(params, dict | list):
        raise InvalidParams("params must be an object or a list")
    waiting: list[tuple[str, Any]] = [("params", cast("Any", params))]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += cast("Iterable[tuple[str, Any]]", value.items())  # pyright: ignore[reportUnknownMemberType]  # a client's JSON
        elif isinstance(value, list):
            waiting += ((name, one) for one in cast("list[Any]", value))
        elif isinstance(value, str) and _NAMED.search(name) and not _is_usable(value):
            raise InvalidParams(f"{name}: {value[:200]!r} can't be the name of a file")


def _is_usable(text: str) -> bool:
    from urllib.parse import unquote_to_bytes  # lazy: nothing of it is needed to answer `initialize`

    try:
        if not text.startswith("file:"):
            return "\0" not in text and bool(os.fsencode(text) or True)
        name = unquote_to_bytes(text)
        return b"\0" not in name and bool(name.decode("utf-8") or True)
    except UnicodeError:
        return False

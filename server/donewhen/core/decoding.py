"""What bytes and texts from outside hold, where they hold it. Pure."""

from __future__ import annotations

import json
from typing import Any, cast


def decoded(content: bytes | None) -> str | None:
    """Empty for a file that isn't there, None for one that is not text."""
    try:
        return "" if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """None for what is not a JSON object."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None

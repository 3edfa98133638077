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


class ByteLines:
    """Cuts what comes in pieces into lines, without their ends; a long line in many pieces is scanned only once.

    `held` is how many bytes of an unfinished line are kept: no more than `longest` and one piece, where that is
    given; the others of that line are dropped.
    """

    def __init__(self, longest: int | None = None) -> None:
        self.held = 0
        self._longest = longest
        self._pieces: list[bytes] = []

    def add(self, data: bytes) -> list[bytes]:
        """The lines that are whole now."""
        *ends, begun = data.split(b"\n")
        lines = [self.rest() + end for end in ends]
        if begun and (self._longest is None or self.held <= self._longest):
            self._pieces.append(begun)
            self.held += len(begun)
        return lines

    def rest(self) -> bytes:
        """The unfinished line, which is not kept any longer."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        self.held = 0
        return rest


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """None for what is not a JSON object."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None

"""Output of any size in little memory: head and tail kept, the cut marked, all of it digested."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable

_LONGEST_LINE = 65_536


class Output:
    """Collects bytes; keeps at most `limit` of them, half from the start and half from the end."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._hash = hashlib.sha256()
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self.size += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        # Trimmed only once it has doubled, so that a flood costs one move per half and not one per chunk.
        self._tail += chunk[-self._half :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def digest(self) -> str:
        """sha256 of all bytes, hexadecimal."""
        return self._hash.hexdigest()

    def text(self) -> str:
        """What was kept: invalid UTF-8 replaced, NULs shown as ␀, `[... N bytes cut ...]` where it was cut."""
        tail = bytes(self._tail[-self._half :])
        if self.size <= len(self._head) + len(tail):
            return readable(bytes(self._head) + tail)
        head, tail = _whole_end(bytes(self._head)), _whole_start(tail)
        cut = self.size - len(head) - len(tail)
        return f"{readable(head)}\n[... {cut:,} bytes cut ...]\n{readable(tail)}"


def readable(data: bytes) -> str:
    """The bytes as text, with nothing in it that breaks a database or a terminal's line."""
    return data.decode("utf-8", errors="replace").replace("\0", "␀")


def _whole_end(data: bytes) -> bytes:
    """Without the first bytes of a character whose rest was cut."""
    kept = codecs.utf_8_decode(data[-4:], "ignore", False)[1] if len(data) >= 4 else len(data)
    return data if len(data) < 4 else data[: len(data) - 4 + kept]


def _whole_start(data: bytes) -> bytes:
    """Without the last bytes of a character whose start was cut."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


class Lines:
    """Hands complete lines to `on_line` as they come, without their ends; a line of 64 KiB is handed out in parts."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._rest = b""

    def add(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._on_line(readable(line.rstrip(b"\r")))
        if len(self._rest) > _LONGEST_LINE:
            self.close()

    def close(self) -> None:
        if self._rest:
            self._on_line(readable(self._rest.rstrip(b"\r")))
            self._rest = b""

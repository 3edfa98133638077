"""Text that the client holds and the disk doesn't: nothing may be written over it silently."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.regular import read_bytes

if TYPE_CHECKING:
    from donewhen.lsp.texts import Texts

MAX_BYTES = 4 * 1024 * 1024
REMEMBERED = 16


class Unsaved:
    """Tells a person's unsaved text from that of an editor that hasn't read a changed file again yet: what once was on
    the disk is nobody's work in progress."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._seen: dict[Path, deque[int]] = {}

    def opened(self, path: Path, text: str) -> None:
        """An editor may open a file with text that it kept from an earlier session."""
        self._seen[path] = deque(maxlen=REMEMBERED)
        disk = _read(path)
        if disk is None and path.is_file():
            disk = text  # no text in UTF-8, or too much of it: taken for what the editor shows
        if disk is not None:
            self._remember(path, disk)

    def saved(self, path: Path, text: str) -> None:
        self._remember(path, text)

    def closed(self, path: Path) -> None:
        self._seen.pop(path, None)

    def text(self, path: Path) -> str | None:
        """The client's text of a file, where a person has something in it that isn't saved."""
        shown = self._texts.open_text(path)
        if shown is None:
            return None
        disk = _read(path)
        if disk is not None:
            self._remember(path, disk)
        return None if _digest(shown) in self._seen.get(path, ()) else shown

    def _remember(self, path: Path, text: str) -> None:
        seen = self._seen.setdefault(path, deque(maxlen=REMEMBERED))
        digest = _digest(text)
        if digest not in seen:
            seen.append(digest)


def _digest(text: str) -> int:
    """Editors may hold line ends and byte-order marks otherwise than the disk does."""
    return hash(text.removeprefix("\ufeff").replace("\r\n", "\n"))


def _read(path: Path) -> str | None:
    try:
        return read_bytes(path).decode("utf-8") if path.stat().st_size <= MAX_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None

"""Who wrote what is on disk: what the editor saved last, and what changed after a moment."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

_BOM = b"\xef\xbb\xbf"


class ClientSaves:
    """The digests of what the client last saved for each file, as its text may stand on disk."""

    def __init__(self) -> None:
        self._digests: dict[str, frozenset[bytes]] = {}

    def note(self, path: str, text: str) -> None:
        """The editor saved this text."""
        self._digests[path] = frozenset(hashlib.sha256(content).digest() for content in _variants(text))

    def holds(self, path: str, content: bytes) -> bool:
        """Whether the content is what the client last saved, however it ends lines and marks its encoding."""
        return hashlib.sha256(content).digest() in self._digests.get(path, frozenset())


def _variants(text: str) -> list[bytes]:
    bare = text.removeprefix("\ufeff")
    unix = bare.replace("\r\n", "\n")
    texts = {bare, unix, unix.replace("\n", "\r\n"), unix.replace("\r", "\n")}
    contents = [variant.encode("utf-8", "surrogatepass") for variant in texts]
    return contents + [_BOM + content for content in contents]


def changed_after(root: Path, at: float, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of `paths` that changed on disk after the epoch time `at`: mtime can be set back, ctime can't."""
    return tuple(path for path in paths if _last_change(root, path) > at)


def _last_change(root: Path, path: str) -> float:
    place = root / path
    try:
        status = place.lstat()
    except OSError:
        # It is gone: its folder, or what is left above it, changed when it went.
        return _folder_change(root, place.parent)
    return max(status.st_mtime, status.st_ctime) if os.name != "nt" else status.st_mtime


def _folder_change(root: Path, place: Path) -> float:
    while True:
        try:
            return place.lstat().st_mtime
        except OSError:
            if place == root or place == place.parent:
                return 0.0
            place = place.parent

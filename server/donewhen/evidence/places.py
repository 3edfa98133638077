"""Which file of the workspace a printed path means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse


class Places:
    """Resolves paths as programs print them: absolute, `file:` URIs, or relative to the root or a folder in it.

    `folders` are further folders, relative to the root, that a command changes into.
    """

    def __init__(self, root: Path, folders: Sequence[str] = ()) -> None:
        self._root = root.resolve()
        self._folders = tuple(folders)
        self._bases = [self._root, *(self._root / folder for folder in folders)]
        self._known: dict[str, str | None] = {}

    @property
    def root(self) -> Path:
        return self._root

    def within(self, folders: Sequence[str]) -> Places:
        """The same, with more folders to look in."""
        return Places(self._root, (*self._folders, *folders)) if folders else self

    def find(self, printed: str) -> str | None:
        """The path relative to the root (posix) of an existing file inside it; else None."""
        if printed not in self._known:
            self._known[printed] = self._find(printed)
        return self._known[printed]

    def _find(self, printed: str) -> str | None:
        text = printed.strip().strip("'\"")
        if text.startswith("file:"):
            text = _path_of_uri(text)
        if not text or "\n" in text or len(text) > 1000:
            return None
        for base in self._bases:
            found = self._inside(base / text.replace("\\", "/"))
            if found is not None:
                return found
        return None

    def _inside(self, path: Path) -> str | None:
        try:
            whole = path.resolve()
            return whole.relative_to(self._root).as_posix() if whole.is_file() else None
        except (OSError, ValueError, RuntimeError):  # the last: links in a circle, before Python 3.13
            return None


def _path_of_uri(uri: str) -> str:
    try:
        return unquote(urlparse(uri).path)
    except ValueError:
        return ""

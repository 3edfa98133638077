"""File changes of a worker that plays a recording: inside the workspace, whole or not at all, never over a person's."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from donewhen.core.errors import ChangedMeanwhile, WorkspaceError
from donewhen.regular import read_bytes


class RecordedFiles:
    """Changes files under `root`, each only while it is as this worker knows it.

    `paths` are those that will be changed; their present content is what is known. Raises ChangedMeanwhile if
    somebody else changed one since, WorkspaceError for a path outside or a file that is not as it should be.
    """

    def __init__(self, root: Path, paths: Sequence[str]) -> None:
        self._root = root.resolve()
        self._paths = tuple(paths)
        self._known: dict[Path, str | None] = {}
        self.remember()

    def remember(self) -> None:
        """Takes the present content as known: after a command of the worker's own ran."""
        for path in self._paths:
            target = self._target(path)
            if target is not None:
                self._known[target] = _digest(_read(target))

    def write(self, path: str, text: str) -> None:
        """Creates or replaces a file; missing folders are created."""
        target = self._inside(path)
        self._refuse_changed(path, target)
        self._replace(target, text.encode())

    def edit(self, path: str, old: str, new: str) -> None:
        """Replaces `old`, which must occur exactly once."""
        target = self._inside(path)
        content = self._refuse_changed(path, target)
        if content is None:
            raise WorkspaceError("there is no such file")
        before = old.encode()
        count = content.count(before)
        if count != 1:
            raise WorkspaceError(f"the text to replace is there {count} times, not once: {old!r}")
        self._replace(target, content.replace(before, new.encode()))

    def delete(self, path: str) -> None:
        """Deletes a file, which must be there."""
        target = self._inside(path)
        if self._refuse_changed(path, target) is None:
            raise WorkspaceError("there is no such file")
        target.unlink()
        self._known[target] = None

    def _inside(self, path: str) -> Path:
        target = self._target(path)
        if target is None:
            raise WorkspaceError(f"{path} is not a file inside the workspace; nothing was changed")
        return target

    def _target(self, path: str) -> Path | None:
        """The file that a path stands for, links followed; None if that is outside or a folder."""
        target = (self._root / path).resolve()
        return target if target.is_relative_to(self._root) and not target.is_dir() else None

    def _refuse_changed(self, path: str, target: Path) -> bytes | None:
        content = _read(target)
        if target in self._known and self._known[target] != _digest(content):
            raise ChangedMeanwhile(path, None if content is None else content.decode(errors="replace"))
        return content

    def _replace(self, target: Path, content: bytes) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(temporary).chmod(mode if mode is not None else 0o644)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._known[target] = _digest(content)


def _read(target: Path) -> bytes | None:
    try:
        return read_bytes(target)
    except FileNotFoundError:
        return None


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()

"""The workspace's files as a worker may read and change them (`ports.GuardedFiles`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from donewhen.core.errors import WorkspaceError
from donewhen.core.globs import matches
from donewhen.ports import FileText, Found, Processes, Workspace
from donewhen.workspace.searching import Search, find_ripgrep, search
from donewhen.workspace.undisturbed import undisturbed
from donewhen.workspace.writes import Text, belongs_to_git, read_text_keeping, write_guarded

P = ParamSpec("P")
T = TypeVar("T")
MAX_TEXT = 20_000_000
"""Bytes of a file that is read as text."""


class GuardedFolder:
    """Implements `ports.GuardedFiles` on a workspace folder; `environment` and `token` are for the search's process,
    `ripgrep` finds its program."""

    def __init__(
        self,
        workspace: Workspace,
        processes: Processes,
        environment: Callable[[], Mapping[str, str]],
        token: str,
        ripgrep: Callable[[Path], str | None] = find_ripgrep,
    ) -> None:
        self._workspace = workspace
        self._top = workspace.root.resolve()
        self._processes = processes
        self._environment = environment
        self._token = token
        self._ripgrep = ripgrep
        self._written: set[str] = set()

    def path(self, name: str) -> str:
        """See `ports.GuardedFiles`."""
        if "\0" in name:
            raise WorkspaceError(f"{name!r} names no file: give a path relative to the workspace")
        try:
            parts = (self._top / name).resolve().relative_to(self._top).parts
        except (ValueError, OSError, RuntimeError) as error:
            raise WorkspaceError(f"{name} lies outside of the workspace: give a path relative to its root") from error
        if belongs_to_git(self._top, parts):
            raise WorkspaceError(f"{name} belongs to git: use git's own commands for it")
        return Path(*parts).as_posix() if parts else ""

    async def read(self, path: str) -> FileText | None:
        return await asyncio.to_thread(_explained, path, self._read, self.path(path))

    async def write(self, path: str, content: str, before: FileText | None) -> FileText:
        writing = asyncio.to_thread(_explained, path, self._write, self.path(path), content, before)
        return await undisturbed(writing)

    async def list(self, folder: str = "", glob: str | None = None) -> Sequence[str]:
        return await asyncio.to_thread(self._list, self.path(folder), glob, tuple(self._workspace.files()))

    async def search(
        self, pattern: str, folder: str = "", glob: str | None = None, *, limit: int = 200, timeout: float = 30.0
    ) -> Found:
        paths = await self.list(folder, glob)
        wanted = Search(self._top, pattern, paths, limit, timeout)
        return await search(wanted, self._processes, self._environment(), self._token, self._ripgrep(self._top))

    def _read(self, path: str) -> FileText | None:
        target = self._top / path
        if target.is_dir():
            raise WorkspaceError(f"{path or '.'} is a folder: list its files instead")
        try:
            size = target.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise WorkspaceError(f"{path} can't be read: {error.strerror}") from error
        if not target.is_file():
            raise WorkspaceError(f"{path} is not a regular file")
        if size > MAX_TEXT:
            raise WorkspaceError(f"{path} is too large to be read as text: {size:,} bytes; look at a part of it")
        text = read_text_keeping(target)
        return FileText(path, text.content, text.digest, text.encoding, text.mark, text.newline)

    def _write(self, path: str, content: str, before: FileText | None) -> FileText:
        manner = before or FileText(path, "", "")
        text = Text("", "", manner.encoding, manner.mark, manner.newline)
        whole = content.replace("\r\n", "\n") if manner.newline == "\r\n" else content
        write_guarded(self._top, path, text.encode(whole), before.digest if before else None)
        self._written.add(path)
        written = self._read(path)
        if written is None:
            raise WorkspaceError(f"{path} was deleted as soon as it was written")
        return written

    def _list(self, folder: str, glob: str | None, covered: Sequence[str]) -> list[str]:
        paths = {*covered, *self._written}
        if folder:
            paths = {path for path in paths if path == folder or path.startswith(f"{folder}/")}
        if glob:
            wanted = _wanted(glob)
            paths = {path for path in paths if wanted(path)}
        return sorted(path for path in paths if self._still_there(path))

    def _still_there(self, path: str) -> bool:
        """Looks only at what was written here: the workspace hears of all others by itself."""
        return path not in self._written or (self._top / path).exists()


def _explained(path: str, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the system has against a name, in words that show no folder outside of the workspace."""
    try:
        return step(*args, **kwargs)
    except OSError as error:
        raise WorkspaceError(f"{path[:200]} can't be used: {error.strerror or 'the system refuses it'}") from error


def _wanted(glob: str) -> Callable[[str], bool]:
    plain = glob.removeprefix("./").strip("/")
    anywhere = plain if "/" in plain else f"**/{plain}"
    return lambda path: matches(anywhere, path)

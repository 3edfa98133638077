"""The files of a workspace, for whoever changes them on behalf of somebody else. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from donewhen.ports.proving import Turn, TurnContext


@dataclass(frozen=True, slots=True)
class FileText:
    """A text file as it was read: its text with `\\n` line ends, and how it is written back.

    `digest` is sha256 of its bytes. A text of mixed line ends keeps each as it is.
    """

    path: str
    content: str
    digest: str
    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a search found; `line` counts from 1, `text` is bounded."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a search, sorted by path and line. `more` says that there are others."""

    hits: tuple[Hit, ...]
    more: bool = False


class GuardedFiles(Protocol):
    """Reads and changes files inside the workspace, and no others: links are resolved, git's own are refused.

    A file is replaced in one step, and only while it is as it was read; encoding, byte order mark, line ends and mode
    stay. Cancelling never leaves a file half written.
    """

    def path(self, name: str) -> str:
        """What a name means: a path relative to the root, links resolved, empty for the root itself. Absolute names
        inside it are taken. Raises WorkspaceError for what lies outside, or belongs to git."""
        ...

    async def read(self, path: str) -> FileText | None:
        """None if there is no such file. Raises WorkspaceError for a folder, and for what is not text."""
        ...

    async def write(self, path: str, content: str, before: FileText | None) -> FileText:
        """Replaces the whole text; `before` is what was read, None: there was no file. Makes missing folders. Raises
        ChangedMeanwhile where it is another by now, WorkspaceError where it can't be written."""
        ...

    async def list(self, folder: str = "", glob: str | None = None) -> Sequence[str]:
        """The paths that the workspace's revision covers in a folder, sorted, and those written here since. A glob
        without `/` is one for names."""
        ...

    async def search(
        self, pattern: str, folder: str = "", glob: str | None = None, *, limit: int = 200, timeout: float = 30.0
    ) -> Found:
        """Where a regular expression matches a line of those files. Raises WorkspaceError for a pattern that is none,
        and where it takes longer than `timeout` seconds."""
        ...


FilesOf = Callable[[Turn, TurnContext], GuardedFiles]
"""The files that a worker may change in a turn."""

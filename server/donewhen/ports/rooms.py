"""Rooms: views of the workspace in which checks are tried and of which nothing stays, and live ones, in which commands
work on the workspace itself and reach nothing else. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from donewhen.ports.folder import Processes, ProcessResult, Workspace
from donewhen.ports.proving import Checker


@dataclass(frozen=True, slots=True)
class Laid:
    """A file that is another one in a room than in the current workspace: as a checkpoint has it, or with this content.
    With neither it isn't there."""

    path: str
    checkpoint: str | None = None
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """The present workspace with some files of another version. Whatever is written in it is thrown away.

    `kind` is how it was made, one word: `overlay`, `copy`, ... `root` is where the workspace's files are in it;
    `same_place` is true if that is the workspace's own absolute path: then what is installed by its path is the room's.
    `checker` runs checks in it. `rewritten` gives the files, of those that are covered or were laid, that were there
    when the room was opened and hold something else now, or are gone; sorted.
    """

    kind: str
    root: Path
    same_place: bool
    checker: Checker
    rewritten: Callable[[], Awaitable[Sequence[str]]]


class Rooms(Protocol):
    """Makes rooms. What a crash left of one is removed when the next one is opened."""

    async def hindrance(self, workspace: Workspace) -> str:
        """What may keep checks of this workspace from running in a room as they do outside, or what a room can't keep
        from them: a sentence; often empty."""
        ...

    def open(
        self, workspace: Workspace, laid: Sequence[Laid], *, built: bool = True, naming: str = ""
    ) -> AbstractAsyncContextManager[Room]:
        """A room for as long as it is entered. Raises WorkspaceError, with the reason, where none can be made. Nobody
        may change the workspace meanwhile, or what is seen in the room is of neither version. `built` false: without
        what builds left in the workspace, where none of it is covered by the revision. What the command `naming` names
        outside of the workspace is seen, wherever it lies."""
        ...


@dataclass(frozen=True, slots=True)
class RoomLimits:
    """What one command in a live room may take with all that it starts: processes and threads at once, bytes of
    memory, bytes by which it may fill the disk. 0: as much as there is, but for memory, of which the machine keeps a
    quarter."""

    processes: int = 4_096
    memory: int = 0
    disk: int = 10 * 1024**3


@dataclass(frozen=True, slots=True)
class Grants:
    """What commands in a live room may do besides changing the workspace and reading what is installed. Paths that
    aren't there are passed over.

    `writes` and `reads` are absolute; `.git` of the workspace among `writes` lets its history be changed, though never
    its hooks and its configuration. `copied` are files that programs replace by others: they are put back, as they are
    then, when the room closes. `guarded` are paths in the workspace that can't be changed, besides those that never
    can. `namespaces`: programs with a sandbox of their own may open it. `commands` are run in the room: the programs
    that they name by their paths are there with what they are installed with.
    """

    network: bool = False
    writes: tuple[Path, ...] = ()
    reads: tuple[Path, ...] = ()
    copied: tuple[Path, ...] = ()
    guarded: tuple[str, ...] = ()
    namespaces: bool = False
    limits: RoomLimits = RoomLimits()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveRoom:
    """Where commands work on the workspace itself. What they write elsewhere is seen by those that follow in the same
    room, and gone with it.

    `processes` runs commands in it, `outside` as the person, where a person said so; where it is not `contained`, both
    do, with all that the person may do. `hint` says what a failed command ran into that is of the room, and what to do
    about it; empty if nothing tells.
    """

    processes: Processes
    outside: Processes
    contained: bool
    hint: Callable[[ProcessResult], str]


class LiveRooms(Protocol):
    """Makes live rooms of one workspace folder."""

    async def hindrance(self) -> str:
        """Why commands can't be contained here; empty if they can. Found out by trying, once."""
        ...

    def open(self, grants: Grants) -> AbstractAsyncContextManager[LiveRoom]:
        """A room for as long as it is entered. Raises WorkspaceError, with the reason, where none can be made."""
        ...

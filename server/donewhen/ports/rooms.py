"""Rooms: views of the workspace in which checks are tried and of which nothing stays, and live ones, in which commands
work on the workspace itself and reach nothing else. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Sequence
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


class Room(Protocol):
    """The present workspace with some files of another version. Whatever is written in it is thrown away."""

    @property
    def kind(self) -> str:
        """How it was made, one word: `overlay`, `copy`, ..."""
        ...

    @property
    def root(self) -> Path:
        """Where the workspace's files are in it."""
        ...

    @property
    def same_place(self) -> bool:
        """True if that is the workspace's own absolute path: then what is installed by its path is the room's."""
        ...

    @property
    def checker(self) -> Checker:
        """Runs checks in it."""
        ...

    async def rewritten(self) -> Sequence[str]:
        """The files that were there when the room was opened and hold something else now, or are gone; sorted."""
        ...


class Rooms(Protocol):
    """Makes rooms. What a crash left of one is removed when the next one is opened."""

    @property
    def kind(self) -> str:
        """How they are made; see `Room.kind`."""
        ...

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


class LiveRoom(Protocol):
    """Where commands work on the workspace itself. What they write elsewhere is seen by those that follow in the same
    room, and gone with it."""

    @property
    def contained(self) -> bool:
        """False: commands run as the person, with all that they may do."""
        ...

    @property
    def processes(self) -> Processes:
        """Runs commands in it."""
        ...

    @property
    def outside(self) -> Processes:
        """Runs commands as the person, where a person said so."""
        ...

    def hint(self, result: ProcessResult) -> str:
        """What a failed command ran into that is of the room: what to do about it; empty if nothing tells."""
        ...


class LiveRooms(Protocol):
    """Makes live rooms of one workspace folder."""

    async def hindrance(self) -> str:
        """Why commands can't be contained here; empty if they can. Found out by trying, once."""
        ...

    def open(self, grants: Grants) -> AbstractAsyncContextManager[LiveRoom]:
        """A room for as long as it is entered. Raises WorkspaceError, with the reason, where none can be made."""
        ...

"""The best rooms that work here, found out by trying."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Laid, Processes, Room, Rooms, Workspace
from donewhen.workspace.rooms.copying import CopiedRooms
from donewhen.workspace.rooms.mounting import Mounter, Mounts, mounted_below, mounters
from donewhen.workspace.rooms.overlay import LAYERS, CheckerIn, OverlayRooms
from donewhen.workspace.rooms.places import take_place

PATIENCE = 10.0
"""Seconds that trying to open a room may take."""
TIMED_OUT = "trying it timed out"


class BestRooms:
    """`ports.Rooms`: overlays if they can be mounted, else copies; also copies for a workspace with mounts in it. `why`
    says, after the trial, why there are no overlays; empty if there are."""

    def __init__(
        self,
        folder: Path,
        processes: Processes,
        inside: CheckerIn,
        variables: Callable[[], Mapping[str, str]],
        mounts: Mounts | None = None,
        programs: Callable[[Mapping[str, str]], Sequence[Mounter]] = mounters,
    ) -> None:
        self._folder = folder
        self._processes = processes
        self._inside = inside
        self._variables = variables
        self._mounts = mounts
        self._programs = programs
        self._copies = CopiedRooms(folder, processes, inside)
        self._chosen: Rooms | None = None
        self._timed_out = False
        """A busy machine may well have overlays: it is tried again the next time."""
        self._choosing = asyncio.Lock()
        self.why = ""

    async def hindrance(self, workspace: Workspace) -> str:
        """See `ports.Rooms`."""
        return await (await self._rooms_for(workspace)).hindrance(workspace)

    @asynccontextmanager
    async def open(
        self, workspace: Workspace, laid: Sequence[Laid], *, built: bool = True, naming: str = ""
    ) -> AsyncGenerator[Room]:
        """See `ports.Rooms`."""
        rooms = await self._rooms_for(workspace)
        async with rooms.open(workspace, laid, built=built, naming=naming) as room:
            yield room

    @property
    def kind(self) -> str:
        """`unknown` before a room was opened."""
        return "unknown" if self._chosen is None else self._chosen.kind

    async def _rooms_for(self, workspace: Workspace) -> Rooms:
        """An overlay doesn't show what is mounted in the workspace."""
        rooms = await self.chosen()
        return self._copies if await asyncio.to_thread(mounted_below, workspace.root) else rooms

    async def chosen(self) -> Rooms:
        """The kind of rooms used here."""
        async with self._choosing:
            if self._chosen is None or self._timed_out:
                self._chosen = await self._overlays() or self._copies
        return self._chosen

    async def _overlays(self) -> OverlayRooms | None:
        self._timed_out = False
        if sys.platform != "linux":
            self.why = "there are no overlays on this system"
            return None
        why: list[str] = []
        # In a container the state folder may itself be on an overlay, which can't be the upper layer of another.
        memory = await asyncio.to_thread(memory_folder)
        for mounter in self._programs(self._variables()):
            for folder in (self._folder, *([memory] if memory is not None else [])):
                rooms = OverlayRooms(mounter, folder, self._processes, self._inside, self._variables, self._mounts)
                hindrance = await self._why_no_overlay(rooms, folder)
                if not hindrance:
                    self.why = ""
                    return rooms
                why.append(f"{mounter.name} can't mount an overlay in {folder}: {hindrance}")
        self.why = "; ".join(why) or "bubblewrap is not installed"
        return None

    async def _why_no_overlay(self, rooms: OverlayRooms, where: Path) -> str:
        """Why an overlay does not work here; empty if it does."""
        try:
            place = await asyncio.to_thread(take_place, where)
        except WorkspaceError as error:
            return str(error)
        try:
            folder = place.folder
            root = folder / "root"
            for name in (*LAYERS, "root"):
                (folder / name).mkdir()
            (root / "below").write_text("below")
            (folder / "layer" / "above").write_text("above")
            result = await rooms.inside(root, folder).run(
                "cat below above && echo more >> below && rm above",
                cwd=root,
                environment=dict(self._variables()),
                token="",
                timeout=PATIENCE,
            )
            if result.exit_code == 0 and result.output == "belowabove" and (folder / "upper" / "below").is_file():
                return ""
            if result.timed_out:
                self._timed_out = True
                return TIMED_OUT
            return result.spawn_error or result.output.strip()[:300]
        finally:
            await asyncio.to_thread(place.close)


def memory_folder(shared: Path = Path("/dev/shm")) -> Path | None:  # noqa: S108  # checked to be this user's alone
    """A folder of this user's in memory, which nobody else can have made or can write to; None if there is none."""
    folder = shared / f"donewhen-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return folder if ours else None

"""Rooms in which checks are tried: layered, at the workspace's own path, in a few milliseconds whatever its size; where
none can be mounted, and for a workspace that something is mounted in, copies.

In a layered room the workspace is the lowest layer, so that everything in it is visible, ignored files too; above it
are the files that differ, and on top is what is written in the room. The upper layer is our own folder: afterwards it
shows which files were written, and no process in the room can influence that.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.core.words import listed
from donewhen.ports import Laid, Processes, Room, Workspace
from donewhen.workspace.rooms.copying import CheckerIn, CopiedRooms
from donewhen.workspace.rooms.layers import built_folders, changed_above, hide, lay_files, like_below
from donewhen.workspace.rooms.mounting import Mounter, mounted_below, mounters
from donewhen.workspace.rooms.opening import Opener
from donewhen.workspace.rooms.showing import RoomSpec


class TrialRooms:
    """`ports.Rooms` of one workspace. `folder` is where rooms are kept, `variables` are those that checks run with."""

    def __init__(
        self,
        spec: RoomSpec,
        folder: Path,
        processes: Processes,
        inside: CheckerIn,
        variables: Callable[[], Mapping[str, str]],
        programs: Callable[[Mapping[str, str]], Sequence[Mounter]] = mounters,
    ) -> None:
        self._spec = spec
        self._inside = inside
        self._opener = Opener(spec, folder, variables, processes, programs)
        self._copies = CopiedRooms(folder, processes, inside)

    async def hindrance(self, workspace: Workspace) -> str:
        """See `ports.Rooms`."""
        if await self.why_copies():
            return await self._copies.hindrance(workspace)
        return await asyncio.to_thread(others_files, workspace.root)

    async def why_copies(self) -> str:
        """Why rooms are copies here; empty if they are layered."""
        inner = await asyncio.to_thread(mounted_below, self._spec.root)
        shown = f"{inner[0]} is mounted in the workspace, and overlays can't show it" if inner else ""
        return shown or await self._opener.hindrance()

    @asynccontextmanager
    async def open(
        self, workspace: Workspace, laid: Sequence[Laid], *, built: bool = True, naming: str = ""
    ) -> AsyncGenerator[Room]:
        """See `ports.Rooms`."""
        if await self.why_copies():
            async with self._copies.open(workspace, laid, built=built, naming=naming) as room:
                yield room
            return
        root = self._spec.root
        files = {*workspace.files(), *(one.path for one in laid)}

        async def lay(folder: Path) -> None:
            layer = folder / "layer"
            gone = await lay_files(workspace, laid, layer)
            files.difference_update(gone)
            if not built:
                gone += await asyncio.to_thread(built_folders, root, frozenset(workspace.files()))
            await asyncio.to_thread(hide, gone, layer)
            for folder_of_layer in (layer, folder / "upper"):
                await asyncio.to_thread(like_below, root, folder_of_layer)

        async with self._opener.open(replace(self._spec, named=naming), lay) as (folder, processes):
            upper = folder / "upper"
            checker = self._inside(processes, root, folder / "scratch", upper)
            yield Room("overlay", root, True, checker, partial(_rewritten, upper, (folder / "layer", root), files))


async def _rewritten(upper: Path, below: Sequence[Path], files: Collection[str]) -> Sequence[str]:
    try:
        return await asyncio.to_thread(lambda: sorted(changed_above(upper, below, files)))
    except OSError as error:
        raise WorkspaceError(f"what was written in a room can't be read ({error.strerror or error})") from error


# Files that somebody else owns: a user namespace maps one user and one group, and an overlay refuses changes to files
# of anybody else.


SHOWN = 3


def others_files(root: Path) -> str:
    """A sentence about such files; empty if everything in the folder belongs to this user and their group. It checks
    every file: a second for some 100,000."""
    user, group = os.geteuid(), os.getegid()
    found: list[str] = []
    left = [str(root)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if (status.st_uid, status.st_gid) != (user, group):
                        found.append(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError:
            continue  # nobody can change what can't be examined
    if not found:
        return ""
    shown = listed(sorted(Path(path).relative_to(root).as_posix() for path in found), SHOWN)
    return (
        "files that belong to another user or group can't be changed in the rooms in which checks are tried: "
        f"{shown}. A check that writes to them proves nothing there; if one does, `chown` them"
    )

"""Rooms that are mounted: an overlay at the workspace's own path, in a few milliseconds whatever its size.

The workspace is the lowest layer, so that everything in it is visible, ignored files too; above it are the files that
differ, and on top is what is written in the room. The upper layer is our own folder: afterwards it shows which files
were written, and no process in the room can influence that.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.core.words import listed
from donewhen.ports import Checker, Laid, Processes, Room, Workspace
from donewhen.workspace.rooms.home import home_of
from donewhen.workspace.rooms.layers import built_folders, changed_above, hide, lay_files, like_below
from donewhen.workspace.rooms.mounting import Inside, Mounter, Mounts, confined, mounted_below, shape_of, showing
from donewhen.workspace.rooms.places import place_in

LAYERS = ("layer", "upper", "work", "scratch", "stage")

CheckerIn = Callable[[Processes, Path, Path, "Path | None"], Checker]
"""Makes the checker of a room from its processes, its root, a folder that it may write to, and the folder to read from
what is written below the root; None: the root itself."""


class OverlayRooms:
    """`ports.Rooms` with programs that mount overlays without privileges. `folder` is where rooms are kept, on a file
    system for overlays; `variables` are those that checks run with."""

    kind = "overlay"

    def __init__(
        self,
        mounter: Mounter,
        folder: Path,
        processes: Processes,
        inside: CheckerIn,
        variables: Callable[[], Mapping[str, str]],
        mounts: Mounts | None = None,
    ) -> None:
        self._mounter = mounter
        self._folder = folder
        self._processes = processes
        self._inside = inside
        self._variables = variables
        self._mounts = mounts or Mounts()

    async def hindrance(self, workspace: Workspace) -> str:
        """See `ports.Rooms`."""
        return await asyncio.to_thread(others_files, workspace.root)

    @asynccontextmanager
    async def open(
        self, workspace: Workspace, laid: Sequence[Laid], *, built: bool = True, naming: str = ""
    ) -> AsyncGenerator[Room]:
        """See `ports.Rooms`."""
        if inner := mounted_below(workspace.root):
            raise WorkspaceError(f"{inner[0]} is mounted in the workspace, and overlays can't show it")
        async with place_in(self._folder) as folder:
            root, layer, upper = workspace.root, folder / "layer", folder / "upper"
            try:
                for name in LAYERS:
                    (folder / name).mkdir()
                gone = await lay_files(workspace, laid, layer)
                if not built:
                    gone += await asyncio.to_thread(built_folders, root, frozenset(workspace.files()))
                await asyncio.to_thread(hide, gone, layer)
                await asyncio.to_thread(like_below, root, layer)
                await asyncio.to_thread(like_below, root, upper)
            except OSError as error:
                raise WorkspaceError(f"a room's files can't be laid in {folder} ({error.strerror or error})") from error
            checker = self._inside(self.inside(root, folder, naming), root, folder / "scratch", upper)
            yield Room(self.kind, root, True, checker, partial(_rewritten, upper, (layer, root)))

    def inside(self, root: Path, folder: Path, naming: str = "") -> Processes:
        """Runs commands in the room whose layers are in that folder."""
        variables = self._variables()
        shape = showing(shape_of(root, folder, variables, self._mounts), naming, home_of(variables))
        return Inside(self._processes, self._mounter, shape, around=confined() if self._mounts.contained else ())


async def _rewritten(upper: Path, below: Sequence[Path]) -> Sequence[str]:
    try:
        return await asyncio.to_thread(lambda: tuple(sorted(set(changed_above(upper, below)))))
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

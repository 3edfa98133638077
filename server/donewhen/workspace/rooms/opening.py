"""The one way into a mounted room: with the first program, and in the first folder, that work here."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Processes
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.guarding import Guarded
from donewhen.workspace.rooms.limits import RoomWatch, control_group
from donewhen.workspace.rooms.mounting import LAYERS, Inside, Mounter, mounters, sources
from donewhen.workspace.rooms.places import RoomFolder, place_in
from donewhen.workspace.rooms.showing import RoomSpec, homes_of, room_shape
from donewhen.workspace.shielding import shielded

PATIENCE = 10.0
"""Seconds that trying to open a room may take."""
TRIED = {"live": "test -w . && echo in", "layered": "cat below && echo more >> below && rm below"}
"""What must print `in` in a room that opens: of a layered one, files change and go."""
CONFINING = Path(__file__).with_name("confining.py")
_BEGUN = """end='
' left=
n=$1; shift
while [ "$n" -gt 0 ]; do left=$left$1$end; n=$((n-1)); shift; done
while read -r _ _ _ from at how _; do
  for one in "$from $at ${how%%,*}$end" "$from $at$end"; do
    case $left in *"$one"*) left=${left%%"$one"*}${left#*"$one"};; esac
  done
done </proc/self/mountinfo
if [ "$left" ]; then
  echo "donewhen: nothing was run, since a file or folder that rooms guard changed just then: run the command again"
  exit 1
fi
ulimit -c 0; { ulimit -u "$0" || ulimit -p "$0"; } 2>/dev/null; exec "$@"
"""
"""What every contained command begins with: it compares what the kernel says is mounted in the workspace with
what is to be there. `$0` is the limit for processes, then come the number of mounts and each as `mounting.sources` has
it, then the command. It starts no other program: PATH may lead into the workspace."""


class Opener:
    """Opens rooms, by whatever opened one like `spec`. `folder` is where they are kept, `variables` are those that
    commands run with, `outside` runs the processes that are not contained."""

    def __init__(
        self,
        spec: RoomSpec,
        folder: Path,
        variables: Callable[[], Mapping[str, str]],
        outside: Processes,
        programs: Callable[[Mapping[str, str]], Sequence[Mounter]] = mounters,
        patience: float = PATIENCE,
    ) -> None:
        self._spec = spec
        self._folder = folder
        self._variables = variables
        self._outside = outside
        self._programs = programs
        self._patience = patience
        self._guarded = Guarded(spec.root, variables)
        self._chosen: tuple[Mounter, Path] | None = None
        self._why: str | None = None
        self._choosing = asyncio.Lock()

    async def hindrance(self) -> str:
        """Why no room opens here; empty if one does. Found out by trying, once."""
        async with self._choosing:
            return await self._why_no_rooms() if self._why is None else self._why

    @asynccontextmanager
    async def open(
        self, spec: RoomSpec, lay: Callable[[Path], Awaitable[None]] | None = None
    ) -> AsyncGenerator[tuple[Path, Processes]]:
        """A room for as long as it is entered: its folder, and what runs commands in it. `lay` puts into the folder
        what is there from the start. Raises WorkspaceError if none can be made."""
        if (why := await self.hindrance()) or self._chosen is None:
            raise WorkspaceError(f"no room can be opened: {why}")
        async with self._opened(*self._chosen, spec, lay) as opened:
            yield opened

    @asynccontextmanager
    async def _opened(
        self, mounter: Mounter, place: Path, spec: RoomSpec, lay: Callable[[Path], Awaitable[None]] | None = None
    ) -> AsyncGenerator[tuple[Path, Processes]]:
        async with place_in(place) as taken:
            folder = taken.folder
            closing = ExitStack()
            try:
                try:
                    for name in LAYERS if spec.tree == "layered" else ():
                        (folder / name).mkdir()
                    if lay is not None:
                        await lay(folder)
                    making = asyncio.to_thread(self._make_room, mounter, taken, spec, closing)
                    inside = await shielded(making)
                except OSError as error:
                    raise WorkspaceError(f"a room can't be made in {folder} ({error.strerror or error})") from error
                yield folder, inside
            finally:
                await shielded(asyncio.to_thread(closing.close))

    def _make_room(self, mounter: Mounter, taken: RoomFolder, spec: RoomSpec, closing: ExitStack) -> Processes:
        """What runs commands in it. `closing` gets what is to be done when it closes."""
        if why := self._unfit(spec):
            raise WorkspaceError(why)
        shape = room_shape(spec, taken, self._variables(), self._guarded, closing)
        if not spec.contained:
            return Inside(self._outside, mounter, shape)
        limits = spec.grants.limits
        group = control_group(2 * limits.processes) if limits.processes else None
        if group is not None:
            closing.callback(group.close)
        # A process in a room holds no lock of ours: it could release it, and it ends with the room anyway.
        watch = RoomWatch(limits, (spec.root, taken.folder), group.refused if group is not None else None)
        most = str(2 * limits.processes) if limits.processes else "unlimited"
        inner = [one for one in shape.mounts if one.place != spec.root and one.place.is_relative_to(spec.root)]
        expected = sources(inner)
        confined = (sys.executable, "-I", "-S", str(CONFINING), str(group.joins) if group is not None else "")
        before = ("/bin/sh", "-c", _BEGUN, most, str(len(expected)), *expected)
        return Inside(SystemProcesses(watch=watch), mounter, shape, around=confined, before=before)

    async def _why_no_rooms(self) -> str:
        if sys.platform != "linux":
            self._why = "this system has no namespaces: rooms need Linux"
            return self._why
        if why := self._unfit(self._spec):
            return why
        # In a container the state folder may itself be on an overlay, which can't be the upper layer of another.
        memory = await asyncio.to_thread(memory_folder) if self._spec.tree == "layered" else None
        hindrances: list[str] = []
        timed_out = False
        for mounter in self._programs(self._variables()):
            for folder in (self._folder, *([memory] if memory is not None else [])):
                late, why = await self._why_not(mounter, folder)
                if not why:
                    self._chosen, self._why = (mounter, folder), ""
                    return ""
                where = "" if folder == self._folder else f" in {folder}"
                hindrances.append(f"{mounter.name} can't open one{where}: {why}")
                timed_out = timed_out or late
        why = "; ".join(dict.fromkeys(hindrances)) or "bubblewrap is not installed"
        # A busy machine may well have rooms: it is tried again the next time.
        self._why = None if timed_out else why
        return why

    async def _why_not(self, mounter: Mounter, place: Path) -> tuple[bool, str]:
        """Whether a command in a room took too long, and why it did not do what it should; empty if it did."""
        try:
            async with place_in(place) as other:
                tree = other.folder
                (tree / "below").write_text("in\n")
                spec = replace(self._spec, root=tree) if self._spec.tree == "layered" else self._spec
                async with self._opened(mounter, place, spec) as (_, inside):
                    result = await inside.run(
                        TRIED[spec.tree],
                        cwd=spec.root,
                        environment=dict(self._variables()),
                        token="",
                        timeout=self._patience,
                    )
        except (OSError, WorkspaceError) as error:
            return False, str(error)
        if result.exit_code == 0 and result.output == "in\n":
            return False, ""
        if result.timed_out:
            return True, "trying it timed out"
        return False, result.spawn_error or result.output.strip()[:300]

    def _unfit(self, spec: RoomSpec) -> str:
        """What in the workspace itself no live room can contain."""
        if spec.tree == "layered":
            return ""
        if any(home.is_relative_to(spec.root) for home in homes_of(self._variables())):
            return f"the workspace {spec.root} holds your home folder: open a folder in it instead"
        for name in self._guarded.links():
            return f"{name} is a link, and nothing keeps a link from being replaced: put what it leads to in its place"
        return ""


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

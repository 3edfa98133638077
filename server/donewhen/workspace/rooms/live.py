"""Live rooms (`ports.LiveRooms`): commands work on the workspace itself, at its own path, and reach nothing else.

Everything except the workspace is read-only. HOME and the temporary folders belong to the room and last as long as it
does; below HOME are toolchains and their caches, and writes to them are discarded. Keys, sockets of the machine's
services, Done When's own folders and other processes are hidden, and so is the network, unless it is granted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import stat
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Grants, LiveRoom, Processes, ProcessResult
from donewhen.regular import read_bytes, read_text
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.choosing import PATIENCE, TIMED_OUT
from donewhen.workspace.rooms.guarding import Guarded, git_folders
from donewhen.workspace.rooms.home import elsewhere, home_of, interpreters, is_file, is_link, is_there
from donewhen.workspace.rooms.limits import RoomWatch, control_group, most_memory
from donewhen.workspace.rooms.mounting import (
    Bubblewrap,
    Inside,
    Mount,
    Mounter,
    Mounts,
    Shape,
    confined,
    files_of_keys,
    folders_of,
    mounters,
    name_resolution,
    of_home,
    of_others,
    of_the_session,
    scratch_overlay,
    sources,
    temporary,
    with_programs,
)
from donewhen.workspace.rooms.places import place_in
from donewhen.workspace.shielding import shielded

_SMALL = 1024 * 1024
"""Bytes that may be written in place of something hidden: a file or two that show its mount point."""
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
"""What every command begins with: it compares what the kernel says is mounted in the workspace with what is to be
there. `$0` is the limit for processes, then come the number of mounts and each as `mounting.sources` has it, then the
command. It starts no other program: PATH may lead into the workspace."""
_NO_NETWORK = re.compile(
    r"could ?n.?o?t resolve|resolve host|name resolution|name or service not known|network is unreachable|ENOTFOUND"
    r"|EAI_AGAIN|getaddrinfo|no such host|nodename nor servname|NameResolutionError|ENETUNREACH",
    re.IGNORECASE,
)
_NOTHING_LISTENS = re.compile(r"connection refused|ECONNREFUSED|actively refused", re.IGNORECASE)
_READ_ONLY = re.compile(r"read-only file ?system|EROFS|Errno 30\b|device or resource busy", re.IGNORECASE)


class MountedLiveRooms:
    """`ports.LiveRooms` on Linux. `folder` is where rooms are kept, `variables` are those that commands run with,
    `mounts` says what is hidden, `outside` runs the processes that are not in a room."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        variables: Callable[[], Mapping[str, str]],
        mounts: Mounts | None = None,
        outside: Processes | None = None,
        programs: Callable[[Mapping[str, str]], Sequence[Mounter]] = mounters,
        patience: float = PATIENCE,
    ) -> None:
        self._root = root
        self._folder = folder
        self._variables = variables
        self._mounts = mounts or Mounts()
        self._outside = outside or SystemProcesses()
        self._programs = programs
        self._guarded = Guarded(root, folder, variables)
        self._chosen: Mounter | None = None
        self._why: str | None = None
        self._timed_out = False
        self._patience = patience
        self._choosing = asyncio.Lock()

    async def hindrance(self) -> str:
        """See `ports.LiveRooms`."""
        async with self._choosing:
            why = self._why
            if why is None:
                self._timed_out = False
                why = await self._why_no_rooms()
                # A busy machine may well have rooms: it is tried again the next time.
                self._why = None if self._timed_out else why
        return why

    @asynccontextmanager
    async def open(self, grants: Grants) -> AsyncGenerator[LiveRoom]:
        """See `ports.LiveRooms`."""
        if (why := await self.hindrance()) or self._chosen is None:
            raise WorkspaceError(f"no room can be opened: {why}")
        async with self._opened_room(self._chosen, grants) as room:
            yield room

    @asynccontextmanager
    async def _opened_room(self, mounter: Mounter, grants: Grants) -> AsyncGenerator[LiveRoom]:
        async with place_in(self._folder) as folder:
            undone: list[Callable[[], object]] = []
            try:
                try:
                    making = asyncio.to_thread(self._make_room, mounter, folder, grants, undone)
                    room = await shielded(making)
                except OSError as error:
                    raise WorkspaceError(f"a room can't be made in {folder} ({error.strerror or error})") from error
                yield room
            finally:
                await shielded(asyncio.to_thread(lambda: [undo() for undo in reversed(undone)]))

    def _make_room(
        self, mounter: Mounter, folder: Path, grants: Grants, undone: list[Callable[[], object]]
    ) -> LiveRoom:
        """`undone` are the steps to take when it closes, last first: it grows with every step here."""
        if links := self._guarded.links():
            raise WorkspaceError(_link_at(links[0]))
        undone.append(lambda: _put_back(folder, grants.copied))
        shape = self._shape(folder, grants, undone)
        group = control_group(2 * grants.limits.processes) if grants.limits.processes else None
        if group is not None:
            undone.append(group.close)
        # A process in a room holds no lock of ours: it could release it, and it ends with the room anyway.
        watch = RoomWatch(grants.limits, (self._root, folder), group.refused if group is not None else None)
        limit = str(2 * grants.limits.processes) if grants.limits.processes else "unlimited"
        inner = [one for one in shape.mounts if one.place != self._root and one.place.is_relative_to(self._root)]
        expected = sources(inner)
        inside = Inside(
            SystemProcesses(watch=watch),
            mounter,
            shape,
            around=confined(str(group.joins) if group is not None else ""),
            before=("/bin/sh", "-c", _BEGUN, limit, str(len(expected)), *expected),
        )
        return LiveRoom(inside, self._outside, contained=True, hint=partial(_room_hint, network=grants.network))

    async def _why_no_rooms(self) -> str:
        """Why there are no rooms; empty if a command ran in one."""
        if sys.platform != "linux":
            return "this system has no namespaces: rooms for commands need Linux"
        if why := self._unfit():
            return why
        hindrances: list[str] = []
        for mounter in _each(self._programs(self._variables())):
            try:
                async with self._opened_room(mounter, Grants()) as room:
                    result = await room.processes.run(
                        "test -w . && echo in",
                        cwd=self._root,
                        environment=dict(self._variables()),
                        token="",
                        timeout=self._patience,
                    )
            except WorkspaceError as error:
                return str(error)
            if result.exit_code == 0 and result.output == "in\n":
                self._chosen, self._timed_out = mounter, False
                return ""
            self._timed_out = self._timed_out or result.timed_out
            said = TIMED_OUT if result.timed_out else result.spawn_error or result.output.strip()[:300]
            hindrances.append(f"{mounter.name} can't open one: {said}")
        return "; ".join(dict.fromkeys(hindrances)) or "bubblewrap is not installed"

    def _unfit(self) -> str:
        """What in the workspace itself no room can contain."""
        for home in _homes(self._variables()):
            if home.is_relative_to(self._root):
                return f"the workspace {self._root} holds your home folder: open a folder in it instead"
        if links := self._guarded.links():
            return _link_at(links[0])
        return ""

    def _shape(self, folder: Path, grants: Grants, undone: list[Callable[[], object]]) -> Shape:
        variables, root = self._variables(), self._root
        limits = replace(grants.limits, memory=grants.limits.memory or most_memory())
        made = [_own(place, folder) for place in temporary()]
        for home in _homes(variables):
            made += [
                _own(home, folder),
                *of_home(home, variables),
                *map(scratch_overlay, interpreters(home, variables)),
            ]
        hidden = folders_of((*self._mounts.hidden, *of_the_session(variables)))
        outer = [place for place in hidden if not place.is_relative_to(root)]
        made += [Mount("empty", place, size=_SMALL) for place in outer]
        covered = [mount.place for mount in made if mount.kind != "vain"]
        back = elsewhere((*temporary(), *outer), variables)
        made += [scratch_overlay(place) for place in back]
        made += [Mount("seen", place) for place in self._around(grants, covered)]
        made += files_of_keys(variables)
        made += [
            Mount("written", place) for place in grants.writes if is_there(place) and not place.is_relative_to(root)
        ]
        for number, file in enumerate(grants.copied):
            _copy(file, folder / "copied" / str(number), made)
        made += [Mount("written", root)]
        inner = [place for place in hidden if place.is_relative_to(root) and place != root]
        made += [Mount("empty", place, size=_SMALL) for place in inner]
        history = root / ".git" in grants.writes
        made += self._guarded.take(grants.guarded, undone, history=history, without=inner)
        made += of_others(made)
        own = Path(variables.get("TMPDIR", "")).is_relative_to(root)
        temporary_folder = {} if own else {"TMPDIR": "/tmp"}  # noqa: S108  # its own
        shape = Shape(
            folder,
            tuple(made),
            grants.network,
            temporary_folder,
            grants.namespaces,
            limits.memory // 4,
            2 * limits.processes,
            root,
        )
        return with_programs(shape, grants.commands, home_of(variables), [*temporary(), *_homes(variables)])

    def _around(self, grants: Grants, covered: Sequence[Path]) -> Iterable[Path]:
        """What else is visible: the repository around the workspace, the name resolution, and what is granted."""
        places = [*_repository(self._root), *(place for place in grants.reads if is_there(place))]
        if grants.network:
            places.append(name_resolution())
        for place in places:
            if any(place.is_relative_to(one) and place != one for one in covered) and is_there(place):
                yield place


def _room_hint(result: ProcessResult, *, network: bool) -> str:
    if result.exit_code == 0:
        return ""
    if not network and _NO_NETWORK.search(result.output):
        return "there is no network in the room that it ran in"
    if not network and _NOTHING_LISTENS.search(result.output):
        return "there is no network in the room that it ran in: what listens on this machine is out of reach there"
    if _READ_ONLY.search(result.output):
        return "in the room that it ran in, only the workspace can be changed, except what git and editors keep there"
    return ""


def _each(programs: Iterable[Mounter]) -> Iterable[Mounter]:
    """Each program, and each that can mount everything but overlays once more without them."""
    for one in programs:
        yield one
        if isinstance(one, Bubblewrap):
            yield one.without_overlays()


def _own(place: Path, folder: Path) -> Mount:
    """A folder of the room at that place, for as long as the room is open."""
    own = folder / "own" / re.sub(r"\W+", "-", str(place)).strip("-")
    own.mkdir(parents=True)
    with contextlib.suppress(OSError):
        own.chmod(stat.S_IMODE(place.stat().st_mode) | 0o700)
    return Mount("written", place, own)


def _homes(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """The person's folder, by HOME and by the system's records."""
    import pwd

    named = [home_of(variables)]
    with contextlib.suppress(KeyError):
        named.append(home_of({"HOME": pwd.getpwuid(os.getuid()).pw_dir}))
    return tuple(sorted({home.resolve() for home in named if home is not None}))


def _link_at(name: str) -> str:
    return f"{name} is a link, and nothing keeps a link from being replaced: put what it leads to in its place"


def _repository(root: Path) -> tuple[Path, ...]:
    """What git needs of a repository that is around the workspace, or keeps its data elsewhere."""
    top = next((one for one in (root, *root.parents) if git_folders(one)), None)
    if top is None:
        return ()
    return (*([top] if top != root else []), *(one for one in git_folders(top) if one != top / ".git"))


def _copy(file: Path, kept: Path, mounts: Sequence[Mount]) -> None:
    """Puts a file into that one of the room's own folders which takes the place of its own, and keeps its original
    state."""
    own = next((mount for mount in reversed(mounts) if file.is_relative_to(mount.place)), None)
    if own is None or own.source is None or not is_file(file):
        return
    target = own.source / file.relative_to(own.place)
    for one in (kept, target):
        one.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, one)
    (kept.parent / f"{kept.name}.at").write_text(str(target))


def _put_back(folder: Path, copied: Sequence[Path]) -> None:
    """Writes back the files that the room changed, unless somebody else changed them in the meantime."""
    for number, file in enumerate(copied):
        kept = folder / "copied" / str(number)
        with contextlib.suppress(OSError, UnicodeDecodeError):
            now = Path(read_text(kept.parent / f"{number}.at"))
            before, after = read_bytes(kept), read_bytes(now)
            if is_link(now) or after == before or read_bytes(file) != before:
                continue
            beside = file.with_name(f"{file.name}.{os.getpid()}.new")
            beside.touch(stat.S_IMODE(file.stat().st_mode))
            beside.write_bytes(after)
            beside.replace(file)

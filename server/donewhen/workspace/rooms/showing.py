"""What a room shows, and what it hides: the workspace, what commands need of the machine, and nothing else.

Everything is read-only except the workspace and what is granted. HOME and the temporary folders are folders of the
room, and last as long as it does; below HOME are toolchains and their caches, and writes to them are discarded. Keys,
sockets of the machine's services, Done When's own folders and other processes are hidden.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path
from typing import Literal

from donewhen.ports import Grants
from donewhen.regular import read_bytes
from donewhen.workspace.rooms.guarding import Guarded, git_folders
from donewhen.workspace.rooms.home import (
    home_of,
    installations,
    is_file,
    is_folder,
    is_link,
    is_there,
    key_files,
    led_to,
    plain_files,
    toolchains,
)
from donewhen.workspace.rooms.limits import most_memory
from donewhen.workspace.rooms.mounting import Mount, Shape, mount_places, mounted_below
from donewhen.workspace.rooms.places import RoomFolder
from donewhen.workspace.writes import replace_file

FRESH = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108  # what is mounted over, not what is used
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
_SMALL = 1024 * 1024
"""Bytes that may be written in place of something hidden: a file or two that show its mount point."""


@dataclass(frozen=True, slots=True)
class RoomSpec:
    """A room of the workspace at `root`. `tree`: `live` is the workspace itself, `layered` is the workspace below the
    layers in the room's folder, which take what is written.

    `hidden` are folders of which nothing is shown but what is granted. `contained`: what runs in it is not trusted,
    sees neither keys nor anybody's services, and is limited. What `named`, a command of the person's own, names outside
    of the workspace is shown, wherever it lies.
    """

    tree: Literal["live", "layered"]
    root: Path
    hidden: tuple[Path, ...] = ()
    grants: Grants = field(default_factory=Grants)
    contained: bool = True
    named: str = ""


def room_shape(
    spec: RoomSpec,
    taken: RoomFolder,
    variables: Mapping[str, str],
    guarded: Guarded,
    closing: contextlib.ExitStack,
) -> Shape:
    """The mounts of a room. `closing` gets what is to be done when it closes. Raises OSError."""
    root, grants, folder = spec.root, spec.grants, taken.folder
    homes = [home for home in homes_of(variables) if not home.is_relative_to(root)]
    made = [_own(place, folder) for place in temporary()]
    for home in homes:
        made += [_own(home, folder), *_of_home(home, variables)]
    hidden = folders_of((*spec.hidden, *_of_the_session(variables, contained=spec.contained)))
    inner = [place for place in hidden if place.is_relative_to(root) and place != root]
    outer = [place for place in hidden if not place.is_relative_to(root)]
    made += [Mount("empty", place, size=_SMALL) for place in outer]
    covered = [mount.place for mount in made if mount.kind != "vain"]
    made += [_scratch_overlay(place) for one in (*temporary(), *outer) for place in led_to(one, variables)]
    for place in _around(root, grants, covered):
        # A check may compile something, for example, and then write into a folder that it was only shown.
        scratch = spec.tree == "layered" and place in grants.reads and is_folder(place)
        made.append(_scratch_overlay(place) if scratch else Mount("seen", place))
    made += _files_of_keys(variables) if spec.contained else []
    made += [Mount("written", place) for place in grants.writes if is_there(place) and not place.is_relative_to(root)]
    for file in grants.copied:
        _copy(file, made, closing)
    made = [one for one in made if not one.place.is_relative_to(root)]  # the workspace is shown whole
    made += [Mount("layered" if spec.tree == "layered" else "written", root)]
    made += [Mount("empty", place, size=_SMALL) for place in inner]
    if spec.tree == "layered":
        made += [Mount("written", folder / "scratch")]
    else:
        made += guarded.take(grants.guarded, taken, history=root / ".git" in grants.writes, without=inner)
    made += _of_others(made) if spec.contained else []
    _show_named(spec, made, [*temporary(), *homes, *(outer if spec.named else ())], home_of(variables))
    own = Path(variables.get("TMPDIR", "")).is_relative_to(root)
    temporary_folder = {} if own else {"TMPDIR": "/tmp"}  # noqa: S108  # its own
    memory = (grants.limits.memory or most_memory()) // 4 if spec.contained else 0
    within = root if spec.tree == "live" else None
    return Shape(
        folder, tuple(_pinned(made, root)), grants.network, temporary_folder, grants.namespaces, memory, within
    )


def temporary() -> list[Path]:
    """The folders that every room has for itself."""
    return [place for place in FRESH if is_folder(place) and not is_link(place)]


def homes_of(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """The person's folder, by HOME and by the system's records."""
    import pwd

    named = [home_of(variables)]
    with contextlib.suppress(KeyError):
        named.append(home_of({"HOME": pwd.getpwuid(os.getuid()).pw_dir}))
    return tuple(sorted({home.resolve() for home in named if home is not None}))


def _own(place: Path, folder: Path) -> Mount:
    """A folder of the room at that place, for as long as the room is open."""
    own = folder / "own" / re.sub(r"\W+", "-", str(place)).strip("-")
    own.mkdir(parents=True, exist_ok=True)  # HOME may be a temporary folder
    with contextlib.suppress(OSError):
        own.chmod(stat.S_IMODE(place.stat().st_mode) | 0o700)
    return Mount("written", place, own)


def _pinned(mounts: Iterable[Mount], root: Path) -> list[Mount]:
    """Those mounts, with the folders between a folder of the room and what is mounted in it mounted over themselves:
    else one command could put a link in their place, and what mounts for the next would follow it, even out of the
    room. What is mounted in the workspace has its own such folders (`guarding`)."""
    made, outer = list[Mount](), list[Mount]()
    for mount in mounts:
        if mount.place == root or not mount.place.is_relative_to(root):
            own = next((one for one in reversed(outer) if mount.place.is_relative_to(one.place)), None)
            if own is not None and own.source is not None:
                for name in reversed(mount.place.relative_to(own.place).parents[:-1]):
                    (own.source / name).mkdir(parents=True, exist_ok=True)
                    made.append(Mount("written", own.place / name, own.source / name))
                    outer.append(made[-1])
            outer.append(mount)
        made.append(mount)
    return made


def _of_home(home: Path, variables: Mapping[str, str]) -> list[Mount]:
    """The visible parts of a hidden folder: toolchains without their keys, and files without keys."""
    shown = toolchains(home, variables)
    made = [_scratch_overlay(place) for place in shown]
    made += [Mount("masked", file) for file in key_files(home) if any(file.is_relative_to(one) for one in shown)]
    return [*made, *(Mount("seen", file) for file in plain_files(home))]


def _scratch_overlay(place: Path) -> Mount:
    """The content with writes that are discarded; an overlay doesn't show mounts in it, so then it is read-only."""
    return Mount("seen" if mounted_below(place) else "vain", place)


def _of_the_session(variables: Mapping[str, str], *, contained: bool) -> list[Path]:
    """The folders with the sockets of this session's services, and those of keys that variables name."""
    if not contained:
        return [Path(f"/run/user/{os.getuid()}")]
    return [*_SESSION, *_paths_in_variables(_FOLDERS_OF_KEYS, variables)]


def folders_of(places: Iterable[Path]) -> tuple[Path, ...]:
    """Those places that are folders, by the paths at which they can be mounted over: links lead to them."""
    return tuple(dict.fromkeys(Path(os.path.realpath(place)) for place in places if is_folder(place)))


def _files_of_keys(variables: Mapping[str, str]) -> list[Mount]:
    """Covers the files of keys that variables name."""
    return [
        Mount("masked", Path(os.path.realpath(place)))
        for place in _paths_in_variables(_FILES_OF_KEYS, variables)
        if is_file(place)
    ]


def _paths_in_variables(names: Iterable[str], variables: Mapping[str, str]) -> list[Path]:
    values = [Path(one) for name in names for one in variables.get(name, "").split(os.pathsep) if one]
    return [value for value in values if value.is_absolute() and len(value.parts) > 1]


def _around(root: Path, grants: Grants, covered: Sequence[Path]) -> Iterable[Path]:
    """What else is visible: the repository around the workspace, the name resolution, and what is granted."""
    resolution = Path(os.path.realpath("/etc/resolv.conf"))  # often in a folder of the session
    for place in (*_repository(root), *grants.reads, *([resolution] if grants.network else [])):
        if any(place.is_relative_to(one) and place != one for one in covered) and is_there(place):
            yield place


def _repository(root: Path) -> tuple[Path, ...]:
    """What git needs of a repository that is around the workspace, or keeps its data elsewhere."""
    own = root / ".git"
    top = next((one for one in ((root, *root.parents) if is_there(own) else root.parents) if git_folders(one)), None)
    # Nobody makes a file `.git` in a room. What else names folders of git's data may have been written in one.
    if top is None or (top == root and is_folder(own)):
        return ()
    return (*([top] if top != root else []), *(one for one in git_folders(top) if one != top / ".git"))


def _copy(file: Path, mounts: Sequence[Mount], closing: contextlib.ExitStack) -> None:
    """Puts a file into that one of the room's own folders which takes the place of its own."""
    own = next((mount for mount in reversed(mounts) if file.is_relative_to(mount.place)), None)
    if own is None or own.source is None or not is_file(file):
        return
    target = own.source / file.relative_to(own.place)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, target)
    closing.callback(_put_back, file, target, read_bytes(target))


def _put_back(file: Path, copy: Path, before: bytes) -> None:
    """Writes back the file that the room changed, unless somebody else changed it in the meantime."""
    with contextlib.suppress(OSError):
        after = read_bytes(copy)
        if is_link(copy) or after == before or read_bytes(file) != before:
            return
        replace_file(file, after, stat.S_IMODE(file.stat().st_mode))


# What commands name by an absolute path.


def _show_named(spec: RoomSpec, mounts: list[Mount], covered: Sequence[Path], home: Path | None) -> None:
    """Makes what commands name read-only in the room if `covered` would hide it, except what contains the workspace or
    something that is covered."""
    kept = [*covered, *(mount.place for mount in mounts if mount.kind in ("layered", "written"))]
    for place in dict.fromkeys(_named_places(spec, home)):
        last = next((mount for mount in reversed(mounts) if place.is_relative_to(mount.place)), None)
        if last is not None and last.place in covered and not any(one.is_relative_to(place) for one in kept):
            mounts.append(Mount("seen", place))


def _named_places(spec: RoomSpec, home: Path | None) -> Iterable[Path]:
    """The programs that commands name, with their installations. What the person's own command names is any file, with
    the folder that it is in: a script may need what is beside it."""
    for command in (spec.named, *spec.grants.commands):
        for place in _paths_in(command, home):
            if os.access(place, os.X_OK) and is_file(place):
                yield from (*installations(place, spec.root), place)
            elif command == spec.named:
                # The folder of everything that is hidden is not shown for a file in it.
                yield from (place if place.is_dir() else place.parent, place)


def _paths_in(command: str, home: Path | None) -> Iterable[Path]:
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


# What is covered since it is somebody else's.


def _of_others(mounts: Sequence[Mount]) -> list[Mount]:
    """What is covered in a room with these mounts since it is somebody else's: the sockets with a path and mounted
    sockets, where whoever listens is outside of the room, and the names of the kernel's keys."""
    covered = [place for place in _KEYS if is_there(place)]
    bound = _paths_of_sockets()
    for path in sorted(bound.union(map(str, mount_places()))):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                place = Path(os.path.realpath(path))
                covered += [place] if _is_visible(place, mounts) else []
    # One may have been renamed, or have a second name. Where a room can't write, no socket is its own.
    for folder in sorted({os.path.realpath(os.path.dirname(path)) for path in bound}):  # noqa: PTH120  # thousands
        if _is_visible(Path(folder), mounts, _SHOWN):
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                places = [
                    Path(entry.path) for entry in entries if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
                ]
                covered += [place for place in places if _is_visible(place, mounts)]
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


def _is_visible(place: Path, mounts: Sequence[Mount], kinds: Sequence[str] = (*_SHOWN, "written", "layered")) -> bool:
    """Whether a file outside of a room is visible in it, by mounts of these kinds or by none."""
    last = next((mount for mount in reversed(mounts) if place.is_relative_to(mount.place)), None)
    return last is None or (last.kind in kinds and last.source is None)

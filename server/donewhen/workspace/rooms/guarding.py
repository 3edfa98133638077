"""The parts of the workspace itself that commands in a live room can't change, because a change would make git, an
editor, an agent or Done When do something outside of the room.

They are found by a walk that follows no link. Each is mounted over itself, read-only, and the folders above it are
mounted over themselves too, since a folder that contains a mount could be renamed and replaced. The programs that mount
do follow links, and a link may come after the walk: so the room itself compares with `mounting.sources`, before
anything runs in it, what was mounted where.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.globs import all_folders, folders_above
from donewhen.core.running_files import ANYWHERE, OF_REPOSITORIES, SUFFIX
from donewhen.regular import read_bytes, read_text
from donewhen.workspace.checkpoints import has_real_folders
from donewhen.workspace.ignoring import CACHE_FOLDERS
from donewhen.workspace.rooms.home import home_of, is_file, is_folder, is_link, is_there
from donewhen.workspace.rooms.mounting import Mount
from donewhen.workspace.rooms.places import RoomFolder

ALWAYS = (".git", ".vscode")
"""Guarded at the top of the workspace even if they don't exist: an empty folder takes their place as long as a room is
open, so that nobody can create them."""
IN_GIT = ("hooks", "config", "config.worktree", "info", "modules", "worktrees")
"""What makes git run something, or read another configuration, if its history may be changed."""
_ABSENT_IN_GIT = ("hooks", "modules", "worktrees", "commondir")
"""`commondir` is a file that makes git look for its configuration elsewhere: if a command creates it, it is removed
when the room closes."""
_GIT_DATA = frozenset({"HEAD", "objects", "refs"})
"""What makes a folder of any name one of git's data: a bare repository, or one that a `.git` file leads to. As
in a `.git` whose history may be changed, the rest of it may."""
_NAMING_CONFIGS = {"GIT_CONFIG_GLOBAL": "", "GIT_CONFIG_SYSTEM": "", "XDG_CONFIG_HOME": "git/config"}
"""Variables that lead git to configuration, and the path below what they name."""
_INSTALLED = ("site-packages", "dist-packages")
_HOOKS_PATH = re.compile(
    rb'(?im)^[^#;\n]*\bhookspath[ \t]*=[ \t]*((?:"(?:\\(?:\r?\n|.)|[^"\\\n\0])*"|\\(?:\r?\n|.)|[^"#;\\\n\0])+)'
)
_QUOTED = re.compile(rb'\\(?:\r?\n|(.))|"')
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"b": b"\b"}
"""How git's configuration writes a value: quotes anywhere in it, these escapes, and the line may go on in the next."""
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class _Seen:
    """A folder as it was when it was last read: what shows whether it has changed, its guarded names, its folders."""

    state: tuple[int, int, int, int]
    guarded: tuple[str, ...]
    folders: tuple[str, ...]
    of_git: bool


class Guarded:
    """The guarded places of one workspace folder. `variables` tells where the person's own configuration of git is."""

    def __init__(self, root: Path, variables: Callable[[], Mapping[str, str]]) -> None:
        self._root = root
        self._variables = variables
        self._known: dict[str, _Seen] = {}

    def take(self, paths: Sequence[str], room: RoomFolder, *, history: bool, without: Sequence[Path]) -> list[Mount]:
        """The mounts that protect them and `paths`, once the workspace itself is mounted. The room holds the places of
        missing ones. Nothing below the folders `without` is looked at. Raises OSError."""
        root = self._root
        history = history and self._is_real(".git") and is_folder(root / ".git")
        tops, data, found = self._walk(frozenset(place.relative_to(root).as_posix() for place in without))
        ways = [way for top in (*self._tops_around(), *tops) for way in self._ways_to_hooks(top)]
        found += [_joined(top, name) for top in tops for name in OF_REPOSITORIES]
        found += [os.path.relpath(root / path, root) for path in paths]
        missing = list(ALWAYS)
        if history:
            found = [path for path in found if path != ".git"]
            data.append(".git")
        found += [_joined(folder, name) for folder in data for name in IN_GIT]
        missing += [_joined(folder, name) for folder in data for name in _ABSENT_IN_GIT]
        for path in dict.fromkeys(missing):
            if _is_inside(root, path) and room.hold(root, path):
                found.append(path)
        passed: list[str] = []
        for way in ways:
            for path in way:
                if _is_inside(root, path):
                    room.hold(root, path)
                # What stands in for a folder on the way, such as a file, could be replaced by one.
                (passed if path != way[-1] and is_folder(root / path) else found).append(path)
        kept = {path for path in found if self._is_real(path)}
        above = set(all_folders(kept))
        above.update(path for path in passed if self._is_real(path))
        outer = sorted(path for path in kept if not kept.intersection(folders_above(path)))
        pinned = sorted(path for path in above - kept if not kept.intersection(folders_above(path)))
        return [*(Mount("written", root / path) for path in pinned), *(Mount("seen", root / path) for path in outer)]

    def links(self) -> tuple[str, ...]:
        """The guarded places that are links, and links on the way to the hooks of the workspace's own repository and of
        those around it: nothing can protect a link. Those of repositories further down don't count, since a command may
        make one."""
        ways = [way for top in ("", *self._tops_around()) for way in self._ways_to_hooks(top)]
        places = (*ALWAYS, ".git/hooks", ".git/config", *(path for way in ways for path in way))
        return tuple(name for name in dict.fromkeys(places) if is_link(self._root / name))

    def _tops_around(self) -> list[str]:
        """The tops of the repositories that the workspace is a folder of."""
        return [os.path.relpath(folder, self._root) for folder in self._root.parents if git_folders(folder)]

    def _is_real(self, path: str) -> bool:
        """Whether it is there, in the workspace, and neither it nor a folder above it is a link."""
        place = self._root / path
        return _is_inside(self._root, path) and is_there(place) and not is_link(place)

    def _walk(self, without: frozenset[str]) -> tuple[list[str], list[str], list[str]]:
        """The tops of repositories, with the workspace's own; the folders of git's data of any other name than `.git`;
        and the guarded places."""
        tops, data, found = [""], list[str](), list[str]()
        known: dict[str, _Seen] = {}
        ahead = deque([""])
        while ahead:
            place = ahead.popleft()
            seen = self._seen_folder(place)
            if seen is None:
                continue
            known[place] = seen
            found += [_joined(place, name) for name in seen.guarded]
            if place and (seen.of_git or ".git" in seen.guarded):
                tops.append(place)
            if seen.of_git:
                data.append(place)
            ahead += [path for name in seen.folders if (path := _joined(place, name)) not in without]
        self._known = known
        return tops, data, found

    def _seen_folder(self, place: str) -> _Seen | None:
        """A folder is read again only if it has changed; None if it can't be read."""
        folder = os.path.join(self._root, place)  # noqa: PTH118  # thousands of them
        try:
            status = os.lstat(folder)
            state = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            known = self._known.get(place)
            if not stat.S_ISDIR(status.st_mode) or (known is not None and known.state == state):
                return known if stat.S_ISDIR(status.st_mode) else None
            with os.scandir(folder) as entries:
                return _read_entries(state, entries, top=not place)
        except OSError:
            return None

    def _ways_to_hooks(self, top: str) -> list[tuple[str, ...]]:
        """The ways to the folders of hooks that git is told to use in a repository: of each, what is in the workspace
        or may be made there, and the folder of hooks last if it is one of these."""
        variables = self._variables()
        home = home_of(variables)
        configs = [one for git in git_folders(self._root / top) for one in (git / "config", git / "config.worktree")]
        configs += [home / name for name in (".gitconfig", ".config/git/config")] if home is not None else []
        configs += [Path(variables[name]) / rest for name, rest in _NAMING_CONFIGS.items() if variables.get(name)]
        root = os.path.realpath(self._root)
        found: list[tuple[str, ...]] = []
        for config in (*configs, Path("/etc/gitconfig")):
            with contextlib.suppress(OSError):
                for named in _HOOKS_PATH.findall(read_bytes(config)):
                    path = os.fsdecode(_unquoted(named))
                    path = f"{home}{path[1:]}" if home is not None and path.startswith("~/") else path
                    passed = _entries_on(os.path.join(root, top, path))  # noqa: PTH118  # its `..` follow links
                    inside = [os.path.relpath(one, root) for one in passed if one.startswith(f"{root}/")]
                    found += [tuple(inside)] if inside else []
        return found


def git_folders(top: Path) -> tuple[Path, ...]:
    """The folders of git's data of the repository at `top`: its own, which is `top` of a bare one, and the one that it
    shares with other worktrees. What doesn't look like such a folder is none, whatever a file names."""
    own = top / ".git" if is_there(top / ".git") else top
    if is_file(own):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            own = top / read_text(own).removeprefix("gitdir:").strip()
    found = [own]
    if is_file(own / "commondir"):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            found.append(own / read_text(own / "commondir").strip())
    return tuple(Path(os.path.normpath(one)) for one in found if is_file(one / "HEAD"))


def _read_entries(state: tuple[int, int, int, int], entries: Iterable[os.DirEntry[str]], *, top: bool) -> _Seen:
    guarded: list[str] = []
    folders: list[str] = []
    names: set[str] = set()
    for entry in entries:
        name = entry.name
        names.add(name)
        own = top and (name == "GOAL.md" or name.endswith(".goal.md"))
        if own or name in ANYWHERE or name.endswith(SUFFIX):
            guarded.append(name)
        elif name not in CACHE_FOLDERS and name not in _INSTALLED and entry.is_dir(follow_symlinks=False):
            folders.append(name)
    return _Seen(state, tuple(guarded), tuple(folders), names >= _GIT_DATA)


def _is_inside(root: Path, path: str) -> bool:
    """Whether a path names something in the workspace, or that may be made there, and no folder above it is a link."""
    return path != "." and not path.startswith("../") and has_real_folders(root, path)


def _unquoted(value: bytes) -> bytes:
    """What git takes from a value as it stands in its configuration."""
    return _QUOTED.sub(lambda one: _ESCAPES.get(one[1], one[1]) if one[1] else b"", value.rstrip())


def _entries_on(path: str) -> Iterator[str]:
    """Everything that the kernel passes on its way along an absolute path, as if what is missing were a folder: links,
    and what they lead to. No folder above any of these is a link."""
    place, ahead, links = "/", path.split("/")[::-1], 0
    while ahead:
        name = ahead.pop()
        if name == "..":
            place = os.path.dirname(place)  # noqa: PTH120  # as the kernel does
        elif name not in ("", "."):
            entry = os.path.join(place, name)  # noqa: PTH118  # as above
            yield entry
            if not os.path.islink(entry) or links == _MOST_LINKS:  # noqa: PTH114  # as above
                place = entry
                continue
            links += 1
            target = os.readlink(entry)  # noqa: PTH115  # as above
            place = "/" if target.startswith("/") else place
            ahead += target.split("/")[::-1]


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name

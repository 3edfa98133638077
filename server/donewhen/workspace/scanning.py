"""Updates a manifest from the disk: by a walk over everything, or by looking at the places of changes."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.regular import LIMIT, read_start
from donewhen.workspace.ignoring import Coverage
from donewhen.workspace.manifest import (
    EXECUTABLE,
    FILE,
    LINK,
    NESTED,
    UNREADABLE,
    Draft,
    FileEntry,
    Folder,
    Manifest,
    StatKey,
)
from donewhen.workspace.manifest import stat_key as packed
from donewhen.workspace.writes import is_temporary

_WALK_INSTEAD = 2000
"""If the hints name more paths than this, one walk is cheaper than looking at each."""

Counts = Callable[[str, FileEntry], FileEntry]
"""Gives a freshly read entry its value for the revision."""

_NOTHING: Mapping[str, FileEntry] = {}
_NOBODY: Collection[str] = ()
_WINDOWS = sys.platform == "win32"


class Scanner:
    """Reads a workspace folder. Its methods block: they are for a worker thread, one at a time.

    `on_folder` is called with each folder before it is listed, so that no later change in it goes unnoticed; `counts`
    converts what was read to what counts for the revision.
    """

    def __init__(self, root: Path, coverage: Coverage, on_folder: Callable[[str], None], counts: Counts) -> None:
        self.coverage = coverage
        self._root = os.fspath(root)
        self._on_folder = on_folder
        self._counts = counts

    def walk(self, known: Manifest, suspects: Collection[str] = ()) -> Manifest:
        """The manifest after a stat of every covered file; files with a changed stat, and `suspects`, are read."""
        folders: dict[str, Folder] = {}
        doubts: dict[str, set[str]] = defaultdict(set)
        for path in suspects:
            place, _, name = path.rpartition("/")
            doubts[place].add(name)
        places = [""]
        while places:
            place = places.pop()
            before = known.folders.get(place)
            files = self._scan_folder(place, before.files if before else _NOTHING, doubts.get(place, _NOBODY), places)
            if files is None:
                continue
            folders[place] = before if before is not None and before.files == files else Folder(files)
        if folders.keys() == known.folders.keys() and all(folders[place] is known.folders[place] for place in folders):
            return known
        return Manifest(folders, known.rules)

    def look(self, known: Manifest, paths: Collection[str]) -> Manifest:
        """The manifest after looking at these paths alone; each may be a file, a folder, or missing."""
        if "" in paths or len(paths) > _WALK_INSTEAD:
            return self.walk(known, paths)
        draft = Draft(known)
        visited: set[str] = set()
        for path in sorted({_place_to_look_at(path) for path in paths} - {""}):
            if path not in visited and self.coverage.visits(path.rpartition("/")[0]):
                self._look_at(path, draft, visited)
        return draft.finish()

    def sieve(self, manifest: Manifest) -> Manifest:
        """The manifest without files that only other rules, or other named files, included."""
        covers, tracked = self.coverage.covers, self.coverage.tracked
        lost = [p for p, entry in manifest.items() if p not in tracked and entry.mode != NESTED and not covers(p)]
        return manifest.with_entries(dict.fromkeys(lost))

    def full(self, path: str) -> str:
        """The absolute path, in the system's spelling."""
        return f"{self._root}/{path}" if path else self._root

    def _look_at(self, path: str, draft: Draft, visited: set[str]) -> None:
        full = self.full(path)
        try:
            mode = os.lstat(full).st_mode
        except OSError:
            mode = 0
        if stat.S_ISDIR(mode):
            self._look_below(path, draft, visited)
            return
        draft.drop_below(path, ())
        draft.put(path, self._read_entry(path, stat.S_ISREG(mode)) if mode and self._covers(path) else None)

    def _look_below(self, path: str, draft: Draft, visited: set[str]) -> None:
        above, _, name = path.rpartition("/")
        marker: dict[str, FileEntry] = {}
        places: list[str] = []
        self._enter(above, name, marker, places)
        draft.put(path, marker.get(name))
        while places:
            place = places.pop()
            files = self._scan_folder(place, draft.files(place) or _NOTHING, _NOBODY, places)
            if files is not None:
                visited.add(place)
                draft.put_folder(place, files)
        draft.drop_below(path, visited)

    def _scan_folder(
        self, place: str, known: Mapping[str, FileEntry], suspects: Collection[str], places: list[str]
    ) -> dict[str, FileEntry] | None:
        self._on_folder(place)
        full = self.full(place)
        if not self.coverage.rules.frozen and not self.coverage.is_hidden(place):
            self.coverage.rules.add(place, read_rules(f"{full}/.gitignore"))
        try:
            with os.scandir(full) as listing:
                return self._sift(place, listing, known, suspects, places)
        except OSError as error:
            gone = isinstance(error, FileNotFoundError | NotADirectoryError)
            if place:
                return None if gone else {".": unreadable_entry(full)}
            unreadable = f"can't be read ({error.strerror}): check its permissions"
            what = "is gone: restore it, or open another folder" if gone else unreadable
            raise WorkspaceError(f"the workspace folder {self._root} {what}") from error

    def _sift(
        self,
        place: str,
        listing: Iterable[os.DirEntry[str]],
        known: Mapping[str, FileEntry],
        suspects: Collection[str],
        places: list[str],
    ) -> dict[str, FileEntry]:
        files: dict[str, FileEntry] = {}
        for found in listing:
            name = found.name
            if found.is_dir(follow_symlinks=False):
                self._enter(place, name, files, places)
                continue
            entry = known.get(name)
            if entry is None or entry.racy or name in suspects or _stat_key(found) != entry.key:
                path = f"{place}/{name}" if place else name
                if entry is None and not self._covers(path):
                    continue
                fresh = self._read_entry(path, found.is_file(follow_symlinks=False))
                entry = entry if fresh == entry else fresh
            if entry is not None:
                files[name] = entry
        return files

    def _covers(self, path: str) -> bool:
        return self.coverage.covers(path) and not is_temporary(self.full(path))

    def _read_entry(self, path: str, regular: bool) -> FileEntry | None:
        entry = read_entry(self.full(path), regular=regular)
        return None if entry is None else self._counts(path, entry)

    def _enter(self, above: str, name: str, files: dict[str, FileEntry], places: list[str]) -> None:
        path = f"{above}/{name}" if above else name
        coverage = self.coverage
        if not (coverage.visits(path) or coverage.is_nested(path)):
            return
        nested = os.path.lexists(f"{self.full(path)}/.git")
        coverage.nest(path, nested)
        if nested and coverage.counts_nested(path):
            files[name] = nested_entry(self.full(path))
        if coverage.visits(path):
            places.append(path)


def read_rules(path: str) -> str:
    """The text of a file of ignore rules; empty if there is none. As for git, a link doesn't count."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return ""
        return read_start(path, 1 << 22).decode("utf-8", "surrogateescape")  # names keep their bytes
    except OSError:
        return ""


def _place_to_look_at(path: str) -> str:
    """The place to look at for a path: a `.git` that appears or disappears changes the kind of its folder."""
    place, _, name = path.rpartition("/")
    return place if name == ".git" else path


def _stat_key(found: os.DirEntry[str]) -> StatKey | None:
    try:
        # On Windows a folder's listing has no inode and may be outdated.
        return stat_key(os.lstat(found.path) if _WINDOWS else found.stat(follow_symlinks=False))
    except OSError:
        return None


# Reads one file of the workspace into an entry: never follows links, never blocks on a pipe, never crashes.


_CHUNK = 1 << 20
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
LARGEST_READ = LIMIT
"""Bytes; a larger file counts by its size, its times and its inode."""
SIZE_LIMIT = 50 * 1024 * 1024
"""Bytes; a larger file is in no checkpoint."""
_MOST_HOLES = 8
"""A file beyond `SIZE_LIMIT` that is so many times as large as what of it is on the disk counts so, too."""
_FINE_NS = 50_000_000
_COARSE_NS = 2_000_000_000
_CTIME_IS_CHANGE = sys.platform != "win32"


def stat_key(status: os.stat_result) -> StatKey:
    """What a file's stat says about its content."""
    return packed(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


def read_entry(path: str, *, regular: bool = False) -> FileEntry | None:
    """The entry of the file at an absolute path; None if there is no file or link.

    `regular` says that a listing has just called it a regular file. A file that can't be read gets an entry that says
    so: its existence still counts.
    """
    before = time.time_ns()
    try:
        if regular:
            return _read_file(path, before)
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode):
            return _read_file(path, before)
        if stat.S_ISLNK(status.st_mode):
            return _file_entry(LINK, os.fsencode(os.readlink(path)), status, before)  # noqa: PTH115 - the text as it is
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return read_entry(path) if regular else unreadable_entry(path)
    return None


def blob_id(content: bytes) -> bytes:
    """git's id for this content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).digest()


def _read_file(path: str, before: int) -> FileEntry | None:
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if _beyond_reading(status):
            return _marker(b"large\0" + stat_key(status), stat_key(status))
        content = os.read(descriptor, min(status.st_size, _CHUNK) + 1)
        if len(content) == status.st_size:
            return _file_entry(_mode(status), content, status, before)
        return _stream(descriptor, content, status, before)
    finally:
        os.close(descriptor)


def _beyond_reading(status: os.stat_result) -> bool:
    """True for a file whose stat stands for its content: reading it takes long, and one of holes takes no place on the
    disk to make. Never for one that checkpoints keep, however it lies on the disk: its stat can't be put back."""
    held = getattr(status, "st_blocks", status.st_size) * 512
    holes = status.st_size > max(SIZE_LIMIT, held * _MOST_HOLES)
    return holes or status.st_size > LARGEST_READ


def _file_entry(mode: str, content: bytes, status: os.stat_result, before: int) -> FileEntry:
    digest = hashlib.sha256(content).digest()
    return FileEntry(mode, digest, digest, blob_id(content), stat_key(status), _is_racy(status, before))


def _stream(descriptor: int, start: bytes, status: os.stat_result, before: int) -> FileEntry:
    whole = hashlib.sha256(start)
    blob = hashlib.sha1(b"blob %d\0%b" % (status.st_size, start), usedforsecurity=False)
    size = len(start)
    while size <= LARGEST_READ and (content := os.read(descriptor, _CHUNK)):
        whole.update(content)
        blob.update(content)
        size += len(content)
    digest = whole.digest()
    # Not the size that its stat said: it is being written, and will be read again.
    racy = size != status.st_size or _is_racy(status, before)
    return FileEntry(_mode(status), digest, digest, blob.digest(), stat_key(status), racy)


def unreadable_entry(path: str) -> FileEntry:
    """The entry of a file that exists and can't be read."""
    try:
        key = stat_key(os.lstat(path))
    except OSError:
        key = packed(0)
    return _marker(UNREADABLE, key)


def nested_entry(path: str) -> FileEntry:
    """The entry of a repository inside the workspace: its checked-out commit, according to its files."""
    place = os.path.join(path, ".git")  # noqa: PTH118 - names that are not UTF-8 stay as they are
    head = _start_of_file(place)
    if head.startswith("gitdir:"):
        place = os.path.normpath(os.path.join(path, head[7:].strip()))  # noqa: PTH118
    head = _start_of_file(os.path.join(place, "HEAD"))  # noqa: PTH118
    if head.startswith("ref:"):
        name = head[4:].strip()
        loose = _start_of_file(os.path.join(place, *name.split("/")))  # noqa: PTH118
        head += loose or _start_of_file(os.path.join(place, "packed-refs"))  # noqa: PTH118
    return _marker(b"nested\0" + head.encode("utf-8", "surrogateescape"), packed(0))


def _marker(content: bytes, key: StatKey) -> FileEntry:
    digest = hashlib.sha256(content).digest()
    return FileEntry(NESTED, digest, digest, hashlib.sha1(content, usedforsecurity=False).digest(), key, True)


def _start_of_file(path: str) -> str:
    try:
        return read_start(path, 1 << 20).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _mode(status: os.stat_result) -> str:
    return EXECUTABLE if status.st_mode & 0o100 and sys.platform != "win32" else FILE


def _is_racy(status: os.stat_result, before: int) -> bool:
    """git's rule: a file changed within the clock's resolution before it was read may change again unnoticed."""
    last = max(status.st_mtime_ns, status.st_ctime_ns) if _CTIME_IS_CHANGE else status.st_mtime_ns
    grain = _COARSE_NS if last % 1_000_000_000 == 0 else _FINE_NS
    return last >= before - grain

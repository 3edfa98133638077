"""The revision's content: every covered file's mode and digest, kept by folder so that a change costs little."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from donewhen.core.globs import any_matches

FILE = "100644"
EXECUTABLE = "100755"
LINK = "120000"
NESTED = "160000"
"""A repository inside the workspace: as for git, its checked-out commit counts, not its files."""

UNREADABLE = b"unreadable"

_WILD = frozenset("*?[")

StatKey = bytes
"""Size, mtime_ns, ctime_ns, inode, mode bits, packed: a known hash is trusted only while all of these are the same."""
_STAT = struct.Struct("<qqqQI")


class FileEntry(NamedTuple):
    """One covered file. `counted` represents its content in the revision: its digest, or a check's token.

    `digest` is the sha256 of its bytes (of a link: of its target), `blob` git's sha1 of the same bytes. `racy` marks a
    file that was changed so shortly before it was read that its stat proves nothing: it is read again the next time.
    """

    mode: str
    digest: bytes
    counted: bytes
    blob: bytes
    key: StatKey
    racy: bool = False

    @property
    def size(self) -> int:
        return stat_of(self.key)[0]


def stat_key(size: int, mtime_ns: int = 0, ctime_ns: int = 0, inode: int = 0, mode: int = 0) -> StatKey:
    """Packed, since a workspace has one for each file. Of an inode its low 64 bits."""
    return _STAT.pack(size, mtime_ns, ctime_ns, inode & 0xFFFF_FFFF_FFFF_FFFF, mode)


def stat_of(key: StatKey) -> tuple[int, int, int, int, int]:
    """What was packed."""
    return _STAT.unpack(key)


def same(one: FileEntry | None, other: FileEntry | None) -> bool:
    """True if both count the same in the revision."""
    if one is None or other is None:
        return one is other
    return one.mode == other.mode and one.counted == other.counted


def encoded(path: str) -> bytes:
    """A path's bytes; names that are not UTF-8 keep theirs."""
    return path.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Folder:
    """The covered files directly in one folder, by name."""

    files: Mapping[str, FileEntry]

    @cached_property
    def digest(self) -> bytes:
        """What the folder adds to the revision."""
        whole = hashlib.sha256()
        for name in sorted(self.files):
            entry = self.files[name]
            whole.update(b"%b\0%b\0%b\0" % (encoded(name), entry.mode.encode(), entry.counted))
        return whole.digest()


@dataclass(frozen=True)
class Manifest:
    """The covered content at one moment; immutable, replaced as a whole. `rules` is the digest of the frozen rules."""

    folders: Mapping[str, Folder]
    rules: bytes = b""

    @cached_property
    def revision(self) -> str:
        """sha256 over the rules and the sorted (path, mode, content) of every covered file."""
        whole = hashlib.sha256(self.rules)
        for place in sorted(self.folders):
            folder = self.folders[place]
            if folder.files:
                whole.update(b"%b\0%b" % (encoded(place), folder.digest))
        return whole.hexdigest()

    def get(self, path: str) -> FileEntry | None:
        """The entry of a covered path, None if it is absent or not covered."""
        place, _, name = path.rpartition("/")
        folder = self.folders.get(place)
        return None if folder is None else folder.files.get(name)

    def items(self) -> Iterator[tuple[str, FileEntry]]:
        """Every covered path with its entry, folder by folder."""
        for place, folder in self.folders.items():
            start = f"{place}/" if place else ""
            for name, entry in folder.files.items():
                yield start + name, entry

    def paths(self) -> tuple[str, ...]:
        """Every covered path, sorted. They are made anew: kept, they would be a tenth of the manifest."""
        return tuple(sorted(path for path, _ in self.items()))

    def matching(self, globs: Sequence[str]) -> tuple[str, ...]:
        """The covered paths that match one of the globs, sorted; only folders that can contain matches are visited."""
        starts = {_fixed_start(glob) for glob in globs}
        found: set[str] = set()
        for place, folder in self.folders.items():
            if any(_is_within(place, start) or _is_within(start, place) for start in starts):
                before = f"{place}/" if place else ""
                found.update(before + name for name in folder.files if any_matches(globs, before + name))
        return tuple(sorted(found))

    def changed_since(self, earlier: Manifest) -> tuple[str, ...]:
        """The paths that count differently than in `earlier`, sorted."""
        if earlier is self:
            return ()
        return tuple(sorted(path for path, before, now in self.differences(earlier) if not same(before, now)))

    def differences(self, earlier: Manifest) -> Iterator[tuple[str, FileEntry | None, FileEntry | None]]:
        """Path, old entry and new entry, wherever the two are not the same object."""
        for place in self.folders.keys() | earlier.folders.keys():
            old, new = earlier.folders.get(place), self.folders.get(place)
            if old is new:
                continue
            were: Mapping[str, FileEntry] = old.files if old else {}
            are: Mapping[str, FileEntry] = new.files if new else {}
            start = f"{place}/" if place else ""
            for name in were.keys() | are.keys():
                before, now = were.get(name), are.get(name)
                if before is not now:
                    yield start + name, before, now

    def with_entries(self, entries: Mapping[str, FileEntry | None]) -> Manifest:
        """The manifest with some entries replaced, or removed where None."""
        draft = Draft(self)
        for path, entry in entries.items():
            draft.put(path, entry)
        return draft.finish()


class Draft:
    """A manifest that is being changed."""

    def __init__(self, base: Manifest) -> None:
        self._base = base
        self._folders: dict[str, dict[str, FileEntry] | None] = {}

    def files(self, place: str) -> Mapping[str, FileEntry] | None:
        """The files of one folder in the draft; None if the folder is unknown."""
        if place in self._folders:
            return self._folders[place]
        folder = self._base.folders.get(place)
        return None if folder is None else folder.files

    def put(self, path: str, entry: FileEntry | None) -> None:
        """Replaces one entry, or removes it if `entry` is None."""
        place, _, name = path.rpartition("/")
        known = self.files(place)
        if (known or {}).get(name) == entry:
            return
        files = dict(known or {})
        if entry is None:
            files.pop(name, None)
        else:
            files[name] = entry
        self._folders[place] = files

    def put_folder(self, place: str, files: dict[str, FileEntry]) -> None:
        """Replaces the direct content of one folder."""
        self._folders[place] = files

    def drop_below(self, place: str, keep: Collection[str]) -> None:
        """Forgets a folder and all folders below it, except those in `keep`."""
        start = f"{place}/"
        if not keep and self.files(place) is None:
            return
        for known in [*self._base.folders, *self._folders]:
            if (known == place or known.startswith(start)) and known not in keep:
                self._folders[known] = None

    def finish(self) -> Manifest:
        """The resulting manifest; the very same object if nothing changed."""
        if not self._folders:
            return self._base
        folders = dict(self._base.folders)
        for place, files in self._folders.items():
            if files is None:
                folders.pop(place, None)
            else:
                folders[place] = Folder(files)
        return Manifest(folders, self._base.rules)


def _fixed_start(glob: str) -> str:
    parts = glob.removeprefix("./").rstrip("/").split("/")
    fixed = list(takewhile(lambda part: not _WILD & set(part), parts))
    return "/".join(fixed)


def _is_within(path: str, place: str) -> bool:
    return not place or path == place or path.startswith(f"{place}/")

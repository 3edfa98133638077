"""Where checkpoints keep content: a git object store outside of the workspace, which borrows objects that git has.

It is in git's own format, so that `git --git-dir=... ls-tree` reads it; git itself is needed only to read objects
borrowed from the user's object store. Nothing is ever written there, nor to the user's index.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Literal

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.locks import open_lock_file, try_lock
from donewhen.workspace.repository import run_git
from donewhen.workspace.writes import TEMPORARY

STORE = "checkpoints.git"
"""Its folder, in the folder of a workspace's kept trees."""
FOLDER = "40000"
"""The mode of a folder in a tree."""
RECENT = "recent"
"""Trees that were kept lately, a line each: when (epoch seconds), and the id."""
PRUNED = "pruned"
"""Replaced each time that content was removed."""
LOCK = "objects.lock"
"""Held, with others, while a tree is kept; held alone while content is removed."""
_WAITS = 60.0

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"


class ObjectStore:
    """Content by git's object ids. `borrowed` is the object store of the user's repository, if there is one."""

    def __init__(self, place: Path, borrowed: Path | None) -> None:
        self._place = place
        self._borrowed = borrowed if shutil.which("git") else None
        self._borrowable: set[bytes] = set()
        self._packs = Packs(place / "objects" / "pack")
        self._ready = False

    @property
    def packs(self) -> Packs:
        return self._packs

    @property
    def pruned(self) -> object:
        """Differs once content was removed: what was known to be kept may be gone since."""
        try:
            found = (self._place / PRUNED).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    @contextlib.contextmanager
    def steady(self) -> Generator[None]:
        """While this lasts, nobody removes content. Blocks: for a worker thread."""
        self._prepare()
        with held(self._place / LOCK, shared=True):
            yield

    def note(self, tree: bytes) -> None:
        """Notes a tree that a run is about to name in the ledger: until it does, nothing else says that it is needed.
        Blocks. Raises WorkspaceError."""
        line = f"{int(time.time())} {tree.hex()}\n".encode()
        try:
            descriptor = os.open(self._place / RECENT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise WorkspaceError(f"checkpoints can't be kept in {self._place} ({error.strerror})") from error

    @contextlib.contextmanager
    def writing(self) -> Generator[PackWriter]:
        """A writer for objects, which keeps all or none of them. Blocks: for a worker thread."""
        self._prepare()
        with self._packs.writing() as writer:
            yield writer

    async def missing(self, names: Collection[bytes]) -> set[bytes]:
        """The ids that are neither kept nor can be borrowed."""
        unknown = set(names) - self._borrowable
        unknown -= await asyncio.to_thread(self._names_in_packs, unknown)
        if unknown and self._borrowed is not None:
            said = await self._ask_git("--batch-check=%(objectname) %(objecttype)", unknown)
            rows = (line.split(" ") for line in said.decode(errors="replace").splitlines())
            listed = {bytes.fromhex(row[0]) for row in rows if row[1] in ("blob", "tree")}
            found = {name for name in unknown if name in listed}  # the ids that the manifest holds, not equal ones
            self._borrowable |= found
            unknown -= found
        return unknown

    async def read(self, names: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """The contents of these ids. Raises WorkspaceError for a lost one."""
        wanted = set(names)
        contents = await asyncio.to_thread(self._read_kept, wanted)
        rest = wanted - contents.keys()
        if rest and self._borrowed is not None:
            contents |= await self._read_borrowed(rest)
        if lost := wanted - contents.keys():
            raise WorkspaceError(
                f"the checkpoint has lost the content {min(lost).hex()}: git's garbage collection may have removed it"
            )
        return contents

    def read_tree(self, name: bytes) -> bytes:
        """The content of a tree. Blocks. Raises WorkspaceError if there is none."""
        content = self._packs.read(name)
        if content is None:
            raise WorkspaceError(f"there is no checkpoint {name.hex()} here")
        return content

    def _prepare(self) -> None:
        if self._ready:
            return
        try:
            for folder in ("objects/info", "objects/pack", "refs"):
                (self._place / folder).mkdir(parents=True, exist_ok=True)
            (self._place / "HEAD").write_text("ref: refs/heads/none\n")
            (self._place / "config").write_text(_CONFIG)
            alternates = self._place / "objects" / "info" / "alternates"
            borrowed = b"" if self._borrowed is None else os.fsencode(self._borrowed.resolve()) + b"\n"
            alternates.write_bytes(borrowed)
            self._packs.clean()
        except OSError as error:
            raise WorkspaceError(f"checkpoints can't be kept in {self._place} ({error.strerror})") from error
        self._ready = True

    def _names_in_packs(self, names: Collection[bytes]) -> set[bytes]:
        self._prepare()
        self._packs.refresh()
        return {name for name in names if name in self._packs}

    def _read_kept(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        found = ((name, self._packs.read(name)) for name in names)
        return {name: content for name, content in found if content is not None}

    async def _read_borrowed(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        said = await self._ask_git("--batch", names)
        contents: dict[bytes, bytes] = {}
        at = 0
        while at < len(said):
            end = said.index(b"\n", at)
            row = said[at:end].split(b" ")
            at = end + 1
            if len(row) == 3:
                size = int(row[2])
                contents[bytes.fromhex(row[0].decode())] = said[at : at + size]
                at += size + 1
        return contents

    async def _ask_git(self, mode: str, names: Collection[bytes]) -> bytes:
        nothing = os.devnull
        environment = {
            "GIT_DIR": os.fspath(self._place),
            "GIT_CONFIG_GLOBAL": nothing,
            "GIT_CONFIG_SYSTEM": nothing,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
        }
        arguments, stdin = ["cat-file", mode], "".join(f"{name.hex()}\n" for name in names).encode()
        # Nothing can be borrowed from a store that git can't read: its objects are kept again, or reported as lost.
        code, said = await run_git(arguments, cwd=self._place, environment=environment, stdin=stdin, check=False)
        return said if code == 0 else b""


@contextlib.contextmanager
def held(file: Path, *, shared: bool, within: float = _WAITS) -> Generator[None]:
    """Holds a lock between processes. Blocks. Raises WorkspaceError if it isn't free within so many seconds."""
    try:
        descriptor = open_lock_file(file)
    except OSError as error:
        raise WorkspaceError(f"checkpoints can't be kept in {file.parent} ({error.strerror})") from error
    try:
        deadline = time.monotonic() + within
        while not try_lock(descriptor, shared=shared):
            if time.monotonic() >= deadline:
                raise WorkspaceError(f"another process holds {file}: try again")
            time.sleep(0.005)
        yield
    finally:
        os.close(descriptor)


# git pack files, written whole and without deltas: one new file per checkpoint instead of one per object.
#
# The format is git's own (gitformat-pack, version 2), so that git can read them, too; this reader reads only what this
# writer wrote.


Kind = Literal["tree", "blob"]
_TRIES = 5

_KINDS: Mapping[Kind, int] = {"tree": 2, "blob": 3}
_HEADER = struct.Struct(">4sII")
_INDEX_MAGIC = b"\xfftOc\0\0\0\x02"
_FANOUT = 256 * 4
_LARGE = 0x8000_0000


def object_name(kind: Kind, content: bytes) -> bytes:
    """git's id of an object."""
    return hashlib.sha1(b"%b %d\0%b" % (kind.encode(), len(content), content), usedforsecurity=False).digest()


def rows_of(tree: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    """The rows of a tree's content: mode, name and id."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        yield mode.decode(), name, tree[end + 1 : end + 21]
        at = end + 21


class Packs:
    """The packs in one folder. Blocks: for worker threads, several at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: set[str] = set()
        self._places: dict[bytes, tuple[Path, int]] = {}
        self._refreshing = threading.Lock()

    def __contains__(self, name: bytes) -> bool:
        return name in self._places

    def refresh(self) -> None:
        """Adds packs that have appeared, and forgets those that are gone, including those of other processes."""
        with self._refreshing:
            present = {path.name for path in self._folder.glob("*.idx")}
            gone = self._read - present
            # Another process folded packs: what they held is in a new one.
            known = {} if gone else self._places
            found = present if gone else present - self._read
            for name in found:
                pack = (self._folder / name).with_suffix(".pack")
                # An index that can't be read, or is not whole, names nothing.
                with contextlib.suppress(OSError, WorkspaceError):
                    known.update((key, (pack, at)) for key, at in whole_index_of(self._folder / name))
            self._places, self._read = known, present

    def clean(self) -> None:
        """Removes unfinished files of writers that were killed at least an hour ago."""
        for path in self._folder.glob(f".*{TEMPORARY}"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - 3600:
                    path.unlink()

    def read(self, name: bytes) -> bytes | None:
        """An object's content; None if it is absent or damaged, or can't be read."""
        try:
            return self.found(name)
        except OSError:
            return None

    def found(self, name: bytes) -> bytes | None:
        """An object's content; None if it is absent or damaged. Raises OSError if it can't be read."""
        if name not in self:
            self.refresh()  # or another thread has just done so: what counts is the state afterwards
        for _ in range(_TRIES):
            place = self._places.get(name)
            if place is None:
                return None
            pack, at = place
            try:
                with pack.open("rb") as file:
                    kind, content = _object_at(file, at)
            except FileNotFoundError:
                self.refresh()  # it was folded into another pack since
                continue
            except (zlib.error, IndexError, KeyError):
                return None
            return content if object_name(kind, content) == name else None
        return None

    @contextlib.contextmanager
    def writing(self) -> Generator[PackWriter]:
        """A writer whose objects end up in a separate pack; an error leaves nothing behind."""
        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=TEMPORARY, dir=self._folder)
        try:
            with open(descriptor, "w+b") as file:  # noqa: PTH123 - a descriptor has no path
                writer = PackWriter(file, self)
                yield writer
                index = writer.finish()
            if index is not None:
                writer.pack = self._put_in_place(Path(temporary), index)
        finally:
            Path(temporary).unlink(missing_ok=True)
        self.refresh()

    def _put_in_place(self, temporary: Path, index: bytes) -> Path:
        pack = self._folder / f"pack-{index[-40:-20].hex()}.pack"
        temporary.replace(pack)
        # A pack counts from the moment that its index exists.
        waiting = temporary.with_suffix(".idx" + TEMPORARY)
        try:
            waiting.write_bytes(index)
            waiting.replace(pack.with_suffix(".idx"))
        finally:
            waiting.unlink(missing_ok=True)
        return pack


class PackWriter:
    """Adds objects to one pack; an object that is already kept is not added again."""

    pack: Path | None = None
    """The finished pack; None if nothing was added."""

    def __init__(self, file: BinaryIO, kept: Packs) -> None:
        self._file = file
        self._kept = kept
        self._objects: dict[bytes, tuple[int, int]] = {}
        self._file.write(_HEADER.pack(b"PACK", 2, 0))

    def add(self, kind: Kind, content: bytes) -> bytes:
        """Keeps an object; returns its id."""
        name = object_name(kind, content)
        if name not in self._objects and name not in self._kept:
            record = _size_header(_KINDS[kind], len(content)) + zlib.compress(content, 1)
            self._objects[name] = (self._file.tell(), zlib.crc32(record))
            self._file.write(record)
        return name

    def copy(self, name: bytes, record: bytes) -> None:
        """Keeps an object as another pack holds it, even one that is kept there."""
        if name not in self._objects:
            self._objects[name] = (self._file.tell(), zlib.crc32(record))
            self._file.write(record)

    def finish(self) -> bytes | None:
        """Ends the pack; returns its index, None if nothing was added."""
        if not self._objects:
            return None
        self._file.seek(0)
        self._file.write(_HEADER.pack(b"PACK", 2, len(self._objects)))
        self._file.seek(0)
        whole = hashlib.sha1(usedforsecurity=False)
        while part := self._file.read(1 << 20):
            whole.update(part)
        checksum = whole.digest()
        self._file.write(checksum)
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._index(checksum)

    def _index(self, checksum: bytes) -> bytes:
        names = sorted(self._objects)
        starts = [0] * 256
        for name in names:
            starts[name[0]] += 1
        large = [offset for offset, _ in map(self._objects.__getitem__, names) if offset >= _LARGE]
        places = {offset: _LARGE | number for number, offset in enumerate(large)}
        offsets = [places.get(self._objects[name][0], self._objects[name][0]) for name in names]
        body = b"".join(
            (
                _INDEX_MAGIC,
                struct.pack(">256I", *accumulate(starts)),
                *names,
                struct.pack(f">{len(names)}I", *(self._objects[name][1] for name in names)),
                struct.pack(f">{len(names)}I", *offsets),
                struct.pack(f">{len(large)}Q", *large),
                checksum,
            )
        )
        return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _size_header(kind: int, size: int) -> bytes:
    first, rest = (kind << 4) | (size & 15), size >> 4
    out = bytearray()
    while rest:
        out.append(first | 0x80)
        first, rest = rest & 0x7F, rest >> 7
    out.append(first)
    return bytes(out)


def _object_at(file: BinaryIO, at: int) -> tuple[Kind, bytes]:
    file.seek(at)
    first = byte = file.read(1)[0]
    size, shift = byte & 15, 4
    while byte & 0x80:
        byte = file.read(1)[0]
        size |= (byte & 0x7F) << shift
        shift += 7
    kind: Kind = "tree" if (first >> 4) & 7 == _KINDS["tree"] else "blob"
    # Incompressible data grows a little; bytes after the object are ignored.
    return kind, zlib.decompressobj().decompress(file.read(size + (size >> 10) + 64))


def whole_index_of(path: Path) -> Iterator[tuple[bytes, int]]:
    """The objects of a pack, each with its offset. Raises OSError for an index that can't be read, WorkspaceError for
    one that is not whole, before the first."""
    data = path.read_bytes()
    if not data.startswith(_INDEX_MAGIC) or hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]:
        raise WorkspaceError(f"{path} is not as it was written")
    start = len(_INDEX_MAGIC) + _FANOUT
    (count,) = struct.unpack_from(">I", data, start - 4)
    offsets = struct.unpack_from(f">{count}I", data, start + 24 * count)
    large = start + 28 * count
    for number, offset in enumerate(offsets):
        name = data[start + 20 * number : start + 20 * number + 20]
        at = struct.unpack_from(">Q", data, large + 8 * (offset & ~_LARGE))[0] if offset & _LARGE else offset
        yield name, at

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
from donewhen.workspace.repository import run_git
from donewhen.workspace.writes import TEMPORARY

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"


class ObjectStore:
    """Content by git's object ids. `borrowed` is the object store of the user's repository, if there is one."""

    def __init__(self, place: Path, borrowed: Path | None) -> None:
        self._place = place
        self._borrowed = borrowed if shutil.which("git") else None
        self._borrowable: set[bytes] = set()
        self._packs = Packs(place / "objects" / "pack")
        self._ready = False

    @contextlib.contextmanager
    def writing(self) -> Generator[PackWriter]:
        """A writer for objects, which keeps all or none of them. Blocks: for a worker thread."""
        self._prepare()
        with self._packs.writing() as writer:
            yield writer

    async def missing(self, names: Collection[bytes]) -> set[bytes]:
        """The ids that are neither kept nor can be borrowed."""
        unknown = set(names) - self._borrowable
        unknown -= await asyncio.to_thread(self._kept, unknown)
        if unknown and self._borrowed is not None:
            listed = await self._found_by_git(unknown)
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

    def _kept(self, names: Collection[bytes]) -> set[bytes]:
        self._prepare()
        self._packs.refresh()
        return {name for name in names if name in self._packs}

    def _read_kept(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        found = ((name, self._packs.read(name)) for name in names)
        return {name: content for name, content in found if content is not None}

    async def _found_by_git(self, names: Collection[bytes]) -> set[bytes]:
        lines = "".join(f"{name.hex()}\n" for name in names).encode()
        said = await self._ask("--batch-check=%(objectname) %(objecttype)", lines)
        rows = (line.split(" ") for line in said.decode(errors="replace").splitlines())
        return {bytes.fromhex(row[0]) for row in rows if row[1] in ("blob", "tree")}

    async def _read_borrowed(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        said = await self._ask("--batch", "".join(f"{name.hex()}\n" for name in names).encode())
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

    async def _ask(self, mode: str, stdin: bytes) -> bytes:
        nothing = os.devnull
        environment = {
            "GIT_DIR": os.fspath(self._place),
            "GIT_CONFIG_GLOBAL": nothing,
            "GIT_CONFIG_SYSTEM": nothing,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
        }
        arguments = ["cat-file", mode]
        # Nothing can be borrowed from a store that git can't read: its objects are kept again, or reported as lost.
        code, said = await run_git(arguments, cwd=self._place, environment=environment, stdin=stdin, check=False)
        return said if code == 0 else b""


# git pack files, written whole and without deltas: one new file per checkpoint instead of one per object.
#
# The format is git's own (gitformat-pack, version 2), so that git can read them, too; this reader reads only what this
# writer wrote.


Kind = Literal["tree", "blob"]

_KINDS: Mapping[Kind, int] = {"tree": 2, "blob": 3}
_HEADER = struct.Struct(">4sII")
_INDEX_MAGIC = b"\xfftOc\0\0\0\x02"
_FANOUT = 256 * 4
_LARGE = 0x8000_0000


def object_name(kind: Kind, content: bytes) -> bytes:
    """git's id of an object."""
    return hashlib.sha1(b"%b %d\0%b" % (kind.encode(), len(content), content), usedforsecurity=False).digest()


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
        """Adds packs that have appeared, including those of other processes."""
        with self._refreshing:
            found = {path.name for path in self._folder.glob("*.idx")} - self._read
            for name in found:
                pack = (self._folder / name).with_suffix(".pack")
                self._places.update((key, (pack, at)) for key, at in _index(self._folder / name))
            self._read |= found

    def clean(self) -> None:
        """Removes unfinished files of writers that were killed at least an hour ago."""
        for path in self._folder.glob(f".*{TEMPORARY}"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - 3600:
                    path.unlink()

    def read(self, name: bytes) -> bytes | None:
        """An object's content; None if it is absent or damaged."""
        if name not in self:
            self.refresh()  # or another thread has just done so: what counts is the state afterwards
        place = self._places.get(name)
        if place is None:
            return None
        pack, at = place
        try:
            with pack.open("rb") as file:
                kind, content = _object_at(file, at)
        except (OSError, zlib.error, IndexError, KeyError):
            return None
        return content if object_name(kind, content) == name else None

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
                self._place(Path(temporary), index)
        finally:
            Path(temporary).unlink(missing_ok=True)
        self.refresh()

    def _place(self, temporary: Path, index: bytes) -> None:
        pack = self._folder / f"pack-{index[-40:-20].hex()}.pack"
        temporary.replace(pack)
        # A pack counts from the moment that its index exists.
        waiting = temporary.with_suffix(".idx" + TEMPORARY)
        waiting.write_bytes(index)
        waiting.replace(pack.with_suffix(".idx"))


class PackWriter:
    """Adds objects to one pack; an object that is already kept is not added again."""

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


def _index(path: Path) -> Iterator[tuple[bytes, int]]:
    try:
        data = path.read_bytes()
    except OSError:
        return
    if not data.startswith(_INDEX_MAGIC) or hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]:
        return
    start = len(_INDEX_MAGIC) + _FANOUT
    (count,) = struct.unpack_from(">I", data, start - 4)
    offsets = struct.unpack_from(f">{count}I", data, start + 24 * count)
    large = start + 28 * count
    for number, offset in enumerate(offsets):
        name = data[start + 20 * number : start + 20 * number + 20]
        at = struct.unpack_from(">Q", data, large + 8 * (offset & ~_LARGE))[0] if offset & _LARGE else offset
        yield name, at

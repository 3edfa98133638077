"""Where checkpoints keep content: a SQLite file outside of the workspace, by git's object ids, so that what the user's
repository has is borrowed and not kept again.

A tree is kept in one transaction with all that it needs, and what no needed tree holds is removed in another: whatever
the moment at which either is cut off, nothing that is needed is lost. The file gives free space back to the disk.

git is asked for what is borrowed, with a configuration of ours, and nothing is ever written to the user's store. It
also reads the packs in which earlier versions kept content.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.manifest import NESTED
from donewhen.workspace.repository import run_git

STORE = "checkpoints.git"
"""Its folder, in the folder of a workspace's kept trees."""
FOLDER = "40000"
"""The mode of a folder in a tree."""
RECENT_SECONDS = 7 * 86_400.0
"""How long a tree is needed, once it was kept, that no run names. It takes a moment until one does."""

_CACHED_KB = 65_536
_WAITS = 60.0
"""Seconds for which another process may be at work in the file."""
_AT_ONCE = 500
"""Ids in one query."""
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"
# Full vacuum: what was removed makes the file smaller. `user_version` counts how often content was removed.
_SCHEMA = """
PRAGMA auto_vacuum = FULL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS objects (id BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS recent (tree BLOB NOT NULL UNIQUE, at REAL NOT NULL);
COMMIT;
"""

Kind = Literal["tree", "blob"]


class ContentRemoved(Exception):
    """Content was removed since it was asked what is missing: ask again."""


class ObjectStore:
    """Content by git's object ids (ports.KeptTrees). `borrowed` is the object store of the user's repository, if there
    is one."""

    def __init__(self, place: Path, borrowed: Path | None, *, now: Callable[[], float] = time.time) -> None:
        self._place = place
        self._file = place / "objects.db"
        self._git = shutil.which("git") is not None
        self._borrowed = borrowed.absolute() if borrowed is not None and self._git else None
        self._now = now
        self._ready = False
        self._known: set[bytes] = set()
        """What is there, kept or borrowed, as long as nothing was removed."""
        self._removals = 0

    async def missing(self, names: Collection[bytes]) -> set[bytes]:
        """The ids that are neither kept nor can be borrowed."""
        unknown = await asyncio.to_thread(self._not_kept, names)
        if unknown and self._borrowed is not None:
            # Packs of earlier versions lend nothing: a person deletes them once no old run is needed.
            said = await self._ask_git("--batch-check=%(objectname) %(objecttype)", unknown, self._borrowed)
            rows = (line.split(" ") for line in said.decode(errors="replace").splitlines())
            listed = {bytes.fromhex(row[0]) for row in rows if row[1] in ("blob", "tree")}
            found = {name for name in unknown if name in listed}  # the ids that the manifest holds, not equal ones
            self._known |= found
            unknown -= found
        return unknown

    async def found(self, names: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """The contents of these ids, as far as they are there."""
        wanted = set(names)
        contents = await asyncio.to_thread(self._read_kept, wanted)
        rest = wanted - contents.keys()
        return contents | await self._read_borrowed(rest) if rest and self._asks_git() else contents

    async def read(self, names: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """The contents of these ids. Raises WorkspaceError for a lost one."""
        wanted = set(names)
        contents = await self.found(wanted)
        if lost := wanted - contents.keys():
            raise WorkspaceError(
                f"the checkpoint has lost the content {min(lost).hex()}: git's garbage collection may have removed it"
            )
        return contents

    @contextlib.contextmanager
    def writing(self) -> Generator[ObjectWriter]:
        """Keeps all that is written to it, or nothing. Blocks: for a worker thread. Raises ContentRemoved and
        WorkspaceError."""
        with self._changing() as database:
            if _removals(database) != self._removals:
                raise ContentRemoved
            writer = ObjectWriter(database, self._known)
            yield writer
            # A run is about to name this tree in the ledger: until it does, nothing else says that it is needed.
            database.execute("INSERT OR REPLACE INTO recent VALUES (?, ?)", (writer.last, self._now()))
        self._known |= writer.written

    def is_safe(self, tree: bytes) -> bool:
        """Whether a tree is kept, and will be for days, though nobody names it. Blocks."""
        asked = "SELECT 1 FROM objects JOIN recent ON tree = id WHERE id = ? AND at > ?"
        with self._open() as database:
            return database.execute(asked, (tree, self._now() - RECENT_SECONDS / 2)).fetchone() is not None

    async def prune(self, needed: Collection[str]) -> None:
        await asyncio.to_thread(self._prune, [bytes.fromhex(tree) for tree in needed if len(tree) == 40])

    # ------------------------------------------------------------------------------------ in a worker thread

    def _prune(self, needed: Collection[bytes]) -> None:
        if not self._has_file():
            return
        with self._changing() as database:
            database.execute("DELETE FROM recent WHERE at <= ?", (self._now() - RECENT_SECONDS,))
            recent = [tree for (tree,) in database.execute("SELECT tree FROM recent")]
            database.execute("CREATE TEMP TABLE needed (id BLOB NOT NULL UNIQUE)")
            try:
                held = [(name,) for name in _held_by(database, [*needed, *recent])]
            except zlib.error:
                raise WorkspaceError(f"{self._file} is damaged, so nothing was removed from it") from None
            database.executemany("INSERT INTO needed VALUES (?)", held)
            gone = database.execute("DELETE FROM objects WHERE id NOT IN (SELECT id FROM needed)").rowcount
            if gone:
                database.execute(f"PRAGMA user_version = {_removals(database) + 1}")

    def _not_kept(self, names: Collection[bytes]) -> set[bytes]:
        self._prepare()
        with self._open() as database:
            removals = _removals(database)
            if removals != self._removals:
                self._known, self._removals = set(), removals
            unknown = {name for name in names if name not in self._known}
            kept = {name for name, *_ in _rows(database, "id", unknown)}
        found = {name for name in unknown if name in kept}
        self._known |= found
        return unknown - found

    def _read_kept(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        """What of it is kept, and is as it was written."""
        found: dict[bytes, bytes] = {}
        if not self._has_file():
            return found
        with self._open() as database:
            for name, kind, packed in _rows(database, "id, kind, content", names):
                with contextlib.suppress(zlib.error):
                    content = zlib.decompress(packed)
                    if object_name(kind, content) == name:
                        found[name] = content
        return found

    def _has_file(self) -> bool:
        """Whether anything was ever kept: a file that was cut off while it was made is empty."""
        return self._file.exists() and self._file.stat().st_size > 0

    @contextlib.contextmanager
    def _changing(self) -> Generator[sqlite3.Connection]:
        """One transaction, during which nobody else writes."""
        with self._open() as database, database:  # which ends it
            # What fits there keeps nobody from reading until it is written.
            database.execute(f"PRAGMA cache_size = -{_CACHED_KB}")
            database.execute("BEGIN IMMEDIATE")
            yield database

    @contextlib.contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        try:
            where = f"{self._file.absolute().as_uri()}?mode=rw"
            with contextlib.closing(sqlite3.connect(where, _WAITS, isolation_level=None, uri=True)) as database:
                yield database
        except sqlite3.OperationalError as error:
            helps = "free some space, correct the permissions, or try again"
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                helps = "another process has been writing there for over a minute; try again once it is done"
            why = f"the checkpoints in {self._file} can't be read or written ({error})"
            raise WorkspaceError(f"{why}: {helps}") from error
        except sqlite3.Error as error:
            raise WorkspaceError(
                f"{self._file} is damaged ({error}), so its checkpoints are lost: move it away to go on"
            ) from error

    def _prepare(self) -> None:
        if self._ready:
            return
        try:
            for folder in ("objects/info", "refs"):
                (self._place / folder).mkdir(parents=True, exist_ok=True)
            (self._place / "HEAD").write_text("ref: refs/heads/none\n")
            (self._place / "config").write_text(_CONFIG)
            borrowed = b"" if self._borrowed is None else os.fsencode(self._borrowed.resolve()) + b"\n"
            (self._place / "objects/info/alternates").write_bytes(borrowed)
            self._file.touch(0o600)
        except OSError as error:
            raise WorkspaceError(f"checkpoints can't be kept in {self._place} ({error.strerror})") from error
        with self._open() as database:
            database.executescript(_SCHEMA)
        self._ready = True

    # ------------------------------------------------------------------------------------ what git has

    def _asks_git(self) -> bool:
        if not (self._git and (self._place / "HEAD").exists()):
            return False
        return self._borrowed is not None or any(self._place.glob("objects/pack/*.pack"))

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

    async def _ask_git(self, mode: str, names: Collection[bytes], store: Path | None = None) -> bytes:
        """What `git cat-file` says of these objects, in this store alone if one is named."""
        nothing = os.devnull
        environment = {
            "GIT_DIR": os.fspath(self._place),
            "GIT_CONFIG_GLOBAL": nothing,
            "GIT_CONFIG_SYSTEM": nothing,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
        }
        if store is not None:
            environment["GIT_OBJECT_DIRECTORY"] = os.fspath(store)
        arguments, stdin = ["cat-file", mode], "".join(f"{name.hex()}\n" for name in names).encode()
        # Nothing can be borrowed from a store that git can't read: its objects are kept again, or reported as lost.
        code, said = await run_git(arguments, cwd=self._place, environment=environment, stdin=stdin, check=False)
        return said if code == 0 else b""


class ObjectWriter:
    """Adds objects in one transaction; one that is there is not added again."""

    last = b""
    """The id of what was added last: a tree is written after all that it holds."""

    def __init__(self, database: sqlite3.Connection, known: Collection[bytes]) -> None:
        self._database = database
        self._known = known
        self.written: set[bytes] = set()

    def add(self, kind: Kind, content: bytes) -> bytes:
        """Keeps an object; returns its id."""
        name = self.last = object_name(kind, content)
        if name not in self._known and name not in self.written:
            row = (name, kind, zlib.compress(content, 1))
            self._database.execute("INSERT OR IGNORE INTO objects VALUES (?, ?, ?)", row)
            self.written.add(name)
        return name


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


def _removals(database: sqlite3.Connection) -> int:
    return database.execute("PRAGMA user_version").fetchone()[0]


def _rows(database: sqlite3.Connection, columns: str, names: Iterable[bytes]) -> Iterator[tuple[bytes, Kind, bytes]]:
    """These columns of the objects with these ids, as far as they are kept."""
    every = list(names)
    for start in range(0, len(every), _AT_ONCE):
        some = every[start : start + _AT_ONCE]
        asked = f"SELECT {columns} FROM objects WHERE id IN ({', '.join('?' * len(some))})"  # noqa: S608 # no value
        yield from database.execute(asked, some)


def _held_by(database: sqlite3.Connection, trees: Iterable[bytes]) -> set[bytes]:
    """The ids of these trees and of all that is below them. One that was lost holds nothing."""
    found: set[bytes] = set()
    waiting = set(trees)
    while waiting:
        found |= waiting
        folders: set[bytes] = set()
        for _, _, packed in _rows(database, "id, kind, content", waiting):
            for mode, _, held in rows_of(zlib.decompress(packed)):
                if mode == FOLDER:
                    folders.add(held)
                elif mode != NESTED:
                    found.add(held)
        waiting = folders - found
    return found

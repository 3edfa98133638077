"""Opens the file of a ledger: finds out what it is before anything is written to it.

A file from a newer version stays untouched, byte for byte. A damaged file is moved away and never deleted: a person
may still want what it contains.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from donewhen.core.errors import LedgerError, LedgerTooNew, LedgerUnavailable
from donewhen.store.codec import CODEC_VERSION
from donewhen.store.folders import TREES
from donewhen.store.tables import link_entries

BUSY_SECONDS = 10.0
"""Seconds that one statement waits for another process that is writing."""

CHECKED_BYTES = 16 * 1024 * 1024
"""Larger files are checked completely at the start only if damage was met before; else the check costs too much."""

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_COMPANIONS = ("-wal", "-shm")
_COPIES = 5
"""How often copying is tried for a ledger that changes during the copy."""

Stamp = tuple[tuple[int, int, int] | None, ...]
"""The state of a file and its journal that was read: inode, size and time of each, None if it doesn't exist."""


def open_ledger(path: Path, *, checked_bytes: int = CHECKED_BYTES) -> tuple[sqlite3.Connection, tuple[str, ...]]:
    """A connection to the ledger at `path`, created or migrated as needed, and notices for a person.

    Raises LedgerTooNew and LedgerUnavailable.
    """
    notices: tuple[str, ...] = ()
    try:
        _refuse_others(path)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if is_damaged(path, checked_bytes):
            notices = (_move_aside(path),)
        return _connect(path), notices
    except (sqlite3.Error, OSError) as error:
        raise ledger_error(error, path) from error


def read_ledger(path: Path) -> tuple[sqlite3.Connection, Stamp]:
    """A copy in memory of a ledger that can't be written, and the stamp of what was copied. Raises LedgerTooNew and
    LedgerUnavailable."""
    try:
        _refuse_others(path)
        for _ in range(_COPIES):
            before, memory = stamp_of(path), sqlite3.connect(":memory:", isolation_level=None)
            memory.text_factory = _text
            try:
                if _copy(path, memory) or stamp_of(path) == before:
                    migrate(memory)
                    return memory, before
            except BaseException as error:
                if not isinstance(error, sqlite3.DatabaseError) or stamp_of(path) == before:
                    memory.close()
                    raise
            memory.close()
    except (sqlite3.Error, ForeignDatabase, OSError) as error:
        raise LedgerUnavailable(f"the record of runs {path} can't be read ({error})") from error
    raise LedgerUnavailable(f"the record of runs {path} keeps changing: try again")


def _copy(path: Path, memory: sqlite3.Connection) -> bool:
    """True if it is of one moment, whatever others write meanwhile."""
    if path.with_name(path.name + "-shm").exists():  # whoever has it open keeps the index of its journal there
        with suppress(sqlite3.OperationalError), closing(_read_only(path)) as source:
            source.backup(memory)
            return True
    # By a copy on disk: the journal holds the newest entries, and SQLite creates files beside it to read it.
    with TemporaryDirectory(prefix="donewhen-") as folder:
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(path.with_name(path.name + suffix), Path(folder) / f"copy{suffix}")
        with closing(sqlite3.connect(f"{(Path(folder) / 'copy').as_uri()}?mode=rw", uri=True)) as source:
            source.backup(memory)
    return False


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)


def stamp_of(path: Path) -> Stamp:
    """Raises OSError."""
    return tuple(_stamp(path.with_name(path.name + suffix)) for suffix in ("", "-wal"))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _refuse_others(path: Path) -> None:
    """Refuses other kinds of file: SQLite would wait for the writer of a pipe, or read a device."""
    for suffix in ("", *_COMPANIONS):
        place = path.with_name(path.name + suffix)
        if place.exists() and not (place.is_file() or place.is_dir()):
            raise LedgerUnavailable(
                f"{place} is not a regular file: move it away, or set another state folder",
                typed=" (--state-dir)",
            )


def is_damaged(path: Path, checked_bytes: int = CHECKED_BYTES) -> bool:
    """True for a file that is not an intact ledger. Raises LedgerTooNew. Reads only."""
    if not path.exists():
        return False
    if path.stat().st_size == 0:  # just being made, unless runs kept trees beside it before
        return (path.parent / TREES).is_dir()
    try:
        # Read-only, because a connection that may write can change the file just by closing it. Text is decoded
        # strictly: a name that is not UTF-8 is an error, and doesn't make this another kind of file, to be moved aside.
        with closing(_read_only(path)) as probe:
            versions(probe)
            suspect = path.stat().st_size <= checked_bytes or _suspicion(path).exists()
            return suspect and probe.execute("PRAGMA quick_check(1)").fetchone() != ("ok",)
    except ForeignDatabase:
        return True
    except sqlite3.DatabaseError as error:
        if _sqlite_code(error) in _DAMAGED:
            return True
        raise


def ledger_error(error: Exception, path: Path) -> LedgerError:
    """What an error of SQLite or the file system means to a person, and what to do about it."""
    code = _sqlite_code(error) if isinstance(error, sqlite3.Error) else None
    if code in _DAMAGED:
        with suppress(OSError):
            _suspicion(path).touch()
        return LedgerError(f"the record of runs {path} is damaged ({error}): the next start moves it aside")
    if code in _BUSY:
        return LedgerUnavailable(f"another process has kept the record of runs {path} locked: end it, or try again")
    if code == sqlite3.SQLITE_FULL:
        return LedgerUnavailable(
            f"the disk of {path.parent} is full: make room there, or set another state folder",
            typed=" (--state-dir)",
        )
    return LedgerUnavailable(
        f"the record of runs {path} can't be written ({error}): make {path.parent} a folder that you may write to, "
        "with room on its disk, or set another state folder",
        typed=" (--state-dir)",
    )


def _sqlite_code(error: sqlite3.Error) -> int | None:
    extended = getattr(error, "sqlite_errorcode", None)
    return None if extended is None else extended & 0xFF


def _suspicion(path: Path) -> Path:
    """A marker file: it says that damage was found in the ledger beside it."""
    return path.with_name(path.name + ".suspect")


def _connect(path: Path) -> sqlite3.Connection:
    # Created before SQLite does it: SQLite would let others read the file, and its journal too.
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.text_factory = _text
    try:
        _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection)
        _suspicion(path).unlink(missing_ok=True)
    except BaseException:
        connection.close()
        raise
    return connection


def _text(data: bytes) -> str:
    """Decodes leniently: one name that is not UTF-8 must not prevent everything else from being read."""
    return data.decode("utf-8", errors="replace")


def _patiently(action: Callable[[], object]) -> None:
    """Retries, because SQLite doesn't wait for the lock by itself while the journal mode changes."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            action()
            return
        except sqlite3.OperationalError as error:
            if _sqlite_code(error) not in _BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _move_aside(path: Path) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    # The companion files hold the newest entries; SQLite finds them by the name of the main file.
    for suffix in ("", *_COMPANIONS):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.rename(aside.with_name(aside.name + suffix))
    return f"the record of runs was damaged; it is kept as {aside}, and a new one was begun"


# The tables of a ledger, and how an older ledger gets them.
#
# A migration is a function numbered by its place in MIGRATIONS; a released one never changes. All migrations that a
# ledger lacks run in one transaction, so that a crash leaves either the old ledger or the new one.


Migration = Callable[[sqlite3.Connection], None]


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


def _index_evidence(connection: sqlite3.Connection) -> None:
    """Lets one piece of evidence be found without reading the whole run."""
    connection.execute("ALTER TABLE entries ADD COLUMN evidence_id TEXT")
    rows = connection.execute("SELECT rowid, body FROM entries WHERE type IN ('CheckFinished', 'EvidenceRecorded')")
    found = [(json.loads(body)["evidence"]["id"], rowid) for rowid, body in rows]
    connection.executemany("UPDATE entries SET evidence_id = ? WHERE rowid = ?", found)
    connection.execute(
        "CREATE INDEX evidence_by_id ON entries (run_id, evidence_id, sequence) WHERE evidence_id IS NOT NULL"
    )


def _sum_bodies(connection: sqlite3.Connection) -> None:
    """A sum shows that an entry is unchanged, and so readable, without decoding it. Older entries have no sum."""
    connection.execute("ALTER TABLE entries ADD COLUMN checksum INTEGER")


def _keep_seconds(connection: sqlite3.Connection) -> None:
    """Working time is stored, because differences between times of day are wrong when the clock jumps."""
    connection.execute("ALTER TABLE entries ADD COLUMN seconds REAL")
    connection.execute("ALTER TABLE live ADD COLUMN elapsed REAL NOT NULL DEFAULT 0")


def _chain_entries(connection: sqlite3.Connection) -> None:
    """Each entry gets a digest, each line of the list a seal, both made with a key; each request says who signed it."""
    connection.execute("ALTER TABLE entries RENAME COLUMN checksum TO digest")
    connection.execute("ALTER TABLE runs ADD COLUMN seal BLOB")
    connection.execute("ALTER TABLE requests ADD COLUMN signed TEXT NOT NULL DEFAULT '{}'")


def _keep_runs(connection: sqlite3.Connection) -> None:
    """A person keeps a run; the entries of one that is removed go bit by bit; a long run has a snapshot of its state,
    which can always be made again."""
    for table in ("kept", "removing"):
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (run_id TEXT PRIMARY KEY) WITHOUT ROWID")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS snapshots (run_id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, "
        "version TEXT NOT NULL, body BLOB NOT NULL, seal BLOB NOT NULL)"
    )


def _drop_key(connection: sqlite3.Connection) -> None:
    """Digests are made without a key, so that of every older entry is made anew, of the entry as it is; a line of the
    list names the digest of the last entry. Snapshots can always be made again. How long a model has said nothing is
    stored as a number."""
    connection.execute("ALTER TABLE runs RENAME COLUMN seal TO last_digest")
    connection.execute("ALTER TABLE snapshots RENAME COLUMN seal TO digest")
    connection.execute("DELETE FROM snapshots")
    link_entries(connection)
    connection.execute("ALTER TABLE live ADD COLUMN silent INTEGER NOT NULL DEFAULT 0")


def _drop_requests(connection: sqlite3.Connection) -> None:
    """What people ask of a run's process reaches it without the ledger."""
    connection.execute("DROP TABLE requests")
    connection.execute("DROP TABLE replies")


def _drop_snapshots(connection: sqlite3.Connection) -> None:
    """A run's state is worked out of its entries, however long it is: 20,000 take under a second."""
    connection.execute("DROP TABLE snapshots")


MIGRATIONS: tuple[Migration, ...] = (
    _create, _index_evidence, _sum_bodies, _keep_seconds, _chain_entries, _keep_runs, _drop_key, _drop_requests,
    _drop_snapshots,
)  # fmt: skip

SCHEMA_VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Brings a ledger to the newest schema in one transaction. Raises LedgerTooNew before it writes anything."""
    if versions(connection) == (len(migrations), CODEC_VERSION):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have migrated the ledger while this one waited for the lock.
        schema, _ = versions(connection)
        for step in migrations[schema:]:
            step(connection)
        connection.executemany(
            "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
            [("schema", len(migrations)), ("codec", CODEC_VERSION)],
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def versions(connection: sqlite3.Connection) -> tuple[int, int]:
    """(schema, codec) of a ledger; (0, 0) for an empty file. Raises LedgerTooNew and ForeignDatabase."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0, 0
    if "meta" not in tables:
        raise ForeignDatabase
    found = dict(connection.execute("SELECT name, value FROM meta WHERE name IN ('schema', 'codec')").fetchall())
    schema, codec = int(found.get("schema", 0)), int(found.get("codec", 0))
    if schema < 1:
        raise ForeignDatabase
    if schema > SCHEMA_VERSION or codec > CODEC_VERSION:
        raise LedgerTooNew(
            "the record of runs was written by a newer version of Done When; it is left as it is: "
            "upgrade Done When, or choose another state folder",
            typed=" (--state-dir)",
        )
    return schema, codec


class ForeignDatabase(Exception):  # a finding, not an error that leaves this package
    """A healthy SQLite file that is not a ledger."""


_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE entries (
        run_id TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        at REAL NOT NULL,
        version INTEGER NOT NULL,
        type TEXT NOT NULL,
        body TEXT NOT NULL,
        UNIQUE (run_id, sequence)
    )""",
    """CREATE TABLE runs (
        run_id TEXT PRIMARY KEY,
        mode TEXT NOT NULL,
        title TEXT NOT NULL,
        goal_path TEXT,
        standing TEXT,
        started_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        open_interrupts TEXT NOT NULL
    )""",
    """CREATE TABLE requests (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id TEXT NOT NULL,
        operation TEXT NOT NULL,
        arguments TEXT NOT NULL,
        taken INTEGER NOT NULL DEFAULT 0
    )""",
    """CREATE TABLE replies (
        request_id INTEGER PRIMARY KEY,
        error TEXT,
        message TEXT,
        result TEXT NOT NULL
    )""",
    "CREATE TABLE live (run_id TEXT PRIMARY KEY, activity TEXT, alive_at REAL NOT NULL) WITHOUT ROWID",
)

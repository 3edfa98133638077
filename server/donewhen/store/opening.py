"""Opening the file of a ledger: what it is, before anything is written to it.

A file from a newer version stays untouched byte by byte. A damaged one is moved aside and never deleted: what it says
may still be wanted by a person.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from donewhen.core.errors import LedgerError, LedgerUnavailable
from donewhen.store.schema import ForeignDatabase, migrate, versions

BUSY_SECONDS = 10.0
"""How long one statement waits for another process that writes."""

CHECKED_BYTES = 16 * 1024 * 1024
"""Larger files are read through at the start only where damage was met before: it would cost more than it tells."""

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_COMPANIONS = ("-wal", "-shm")


def open_ledger(path: Path, *, checked_bytes: int = CHECKED_BYTES) -> tuple[sqlite3.Connection, tuple[str, ...]]:
    """A connection to the ledger at `path`, created or migrated as needed, and what a person should know about it.

    Raises LedgerTooNew and LedgerUnavailable.
    """
    notices: tuple[str, ...] = ()
    _refuse_others(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if is_damaged(path, checked_bytes):
            notices = (_move_aside(path),)
        return _connect(path), notices
    except (sqlite3.Error, OSError) as error:
        raise ledger_error(error, path) from error


def _refuse_others(path: Path) -> None:
    """SQLite would wait for whoever writes into a pipe, or read a device."""
    for suffix in ("", *_COMPANIONS):
        place = path.with_name(path.name + suffix)
        if place.exists() and not (place.is_file() or place.is_dir()):
            raise LedgerUnavailable(f"{place} is not a regular file: move it away, or set another --state-dir")


def is_damaged(path: Path, checked_bytes: int = CHECKED_BYTES) -> bool:
    """True for a file that is no whole ledger. Raises LedgerTooNew. Reads only."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    try:
        # Read-only, for a connection that may write can change the file just by closing it.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as probe:
            versions(probe)
            return _is_suspect(path, checked_bytes) and not _is_sound(probe)
    except ForeignDatabase:
        return True
    except sqlite3.DatabaseError as error:
        if _code(error) in _DAMAGED:
            return True
        raise


def ledger_error(error: Exception, path: Path) -> LedgerError:
    """What an error of SQLite or the file system means to a person, and what to do about it."""
    code = _code(error) if isinstance(error, sqlite3.Error) else None
    if code in _DAMAGED:
        with suppress(OSError):
            _suspicion(path).touch()
        return LedgerError(f"the record of runs {path} is damaged ({error}): the next start moves it aside")
    if code in _BUSY:
        return LedgerUnavailable(f"another process has kept the record of runs {path} locked: end it, or try again")
    if code == sqlite3.SQLITE_FULL:
        return LedgerUnavailable(f"the disk of {path.parent} is full: make room there, or set another --state-dir")
    return LedgerUnavailable(
        f"the record of runs {path} can't be written ({error}): make {path.parent} a folder that you may write to, "
        "with room on its disk, or set another --state-dir"
    )


def _code(error: sqlite3.Error) -> int | None:
    extended = getattr(error, "sqlite_errorcode", None)
    return None if extended is None else extended & 0xFF


def _suspicion(path: Path) -> Path:
    """A file that says that damage was met in the ledger beside it."""
    return path.with_name(path.name + ".suspect")


def _is_suspect(path: Path, checked_bytes: int) -> bool:
    return path.stat().st_size <= checked_bytes or _suspicion(path).exists()


def _is_sound(connection: sqlite3.Connection) -> bool:
    return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)


def _connect(path: Path) -> sqlite3.Connection:
    # Made before SQLite does, which would let others read it, its journal too.
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
    """One name that is not UTF-8 must not keep everything else from being read."""
    return data.decode("utf-8", errors="replace")


def _patiently(action: Callable[[], object]) -> None:
    """SQLite doesn't wait for the lock by itself while the journal mode changes."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            action()
            return
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _move_aside(path: Path) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    # The companions hold the newest entries; SQLite finds them by the name of the main file.
    for suffix in ("", *_COMPANIONS):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.rename(aside.with_name(aside.name + suffix))
    return f"the record of runs was damaged; it is kept as {aside}, and a new one was begun"

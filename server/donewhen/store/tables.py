"""The statements of the ledger: blocking functions on one connection, each a single transaction."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any, cast

from donewhen.core.errors import (
    CHANGED_BY_OTHERS,
    LedgerTooNew,
    Overtaken,
    RecordChanged,
    UnreadableRun,
    no_such_run,
)
from donewhen.core.events import END_STATUSES, Entry, Event, EvidenceRecorded, RunEnded, RunInterrupted
from donewhen.core.evidence import Evidence
from donewhen.core.fold.dispatch import fold_read
from donewhen.core.shapes import ShapeError, shape_of
from donewhen.core.state import RunState
from donewhen.ports import Live, RunSummary, Trouble
from donewhen.store.codec import CODEC_VERSION, NAMING_TREES, UnreadableEvent, decode, encode, trees_in
from donewhen.store.summary import RunRecord, removed_run, updated


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All or nothing. IMMEDIATE: the lock is taken before anything is read, so no decision is outdated."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # After a full disk, SQLite has already rolled back.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


# ---------------------------------------------------------------------------------------------- entries

Head = tuple[int, bytes]
"""The last entry of a run, and its digest."""

START = bytes(32)
"""Stands for the digest before a run's first entry."""

_BODY = "CAST(body AS BLOB)"
"""Text that is not UTF-8 can't be read as text; an entry with such text must be named like any other damaged one."""


@dataclass(frozen=True, slots=True)
class _Row:
    """An entry as it is stored; if it is damaged, any field may hold anything."""

    run_id: str
    sequence: Any
    at: Any
    version: Any
    type: Any
    seconds: Any
    evidence_id: Any
    digest: Any
    body: Any

    def linked(self, before: bytes) -> bytes:
        """The digest that this entry must have if it follows the entry with the digest `before`."""
        fields = (self.run_id, self.sequence, self.at, self.version, self.type, self.seconds, self.evidence_id)
        return linked(before, fields, self.body)

    def follows(self, before: object) -> bool:
        """True if this entry is as it was written after the entry with the digest `before`."""
        return isinstance(before, bytes) and self.digest == self.linked(before)

    def event(self) -> Event:
        """Raises UnreadableRun."""
        try:
            if not isinstance(self.version, int) or not isinstance(self.body, bytes):
                raise UnreadableEvent(f"its version is {self.version!r:.20} and its text {type(self.body).__name__}")
            return decode(self.body, self.version)
        except LedgerTooNew as error:
            raise UnreadableRun(self.run_id, f"entry {self.sequence}: {error}; other runs are not affected") from error
        except UnreadableEvent as error:
            raise UnreadableRun(self.run_id, f"entry {self.sequence}: {error}; {CHANGED_BY_OTHERS}") from error

    def entry(self) -> Entry:
        """Raises UnreadableRun."""
        event = self.event()
        if not _is_time(self.at) or not (self.seconds is None or _is_time(self.seconds)):
            raise UnreadableRun(self.run_id, f"entry {self.sequence}: its time is {self.at!r:.30}; {CHANGED_BY_OTHERS}")
        return Entry(self.sequence, self.at, event, self.seconds)


def linked(before: bytes, fields: tuple[object, ...], body: bytes) -> bytes:
    """The digest of a row with that text and those other fields, after the entry with the digest `before`."""
    rest = repr(fields).encode("utf-8", "backslashreplace")
    return sha256(b"".join((before, len(rest).to_bytes(8, "big"), rest, body))).digest()


def append(
    connection: sqlite3.Connection,
    run_id: str,
    event: Event,
    at: float,
    seconds: float | None = None,
    after: int | None = None,
    known: Head | None = None,
    *,
    was_read: bool = False,
    alone: bool = False,
) -> tuple[Entry, Head]:
    """Appends with the next sequence of the run and updates its summary. Raises UnknownRun if the run `was_read` and
    has no entries any more, and Overtaken if `after` is given and isn't the last sequence. `known` is where the run
    ended when this process last wrote it; it writes the run `alone` if nobody else may. Raises RecordChanged where what
    is on record isn't what was written; that the run is `broken` is put on record all the same."""
    body = encode(event)
    evidence_id = event.evidence.id if isinstance(event, EvidenceRecorded) else None
    with transaction(connection):
        last, before = end = _end(connection, run_id)
        if (last == 0 and was_read) or _is_being_removed(connection, run_id):
            raise removed_run(run_id)
        if not (isinstance(event, RunEnded) and event.broken):
            _refuse_changed(connection, run_id, end, known, whole=isinstance(event, RunEnded), alone=alone)
        if after is not None and last != after:
            raise Overtaken(f"run {run_id} went on after entry {after}")
        kind, text = type(event).__name__, body.encode("ascii")
        row = _Row(run_id, last + 1, float(at), CODEC_VERSION, kind, seconds, evidence_id, None, text)
        digest = row.linked(before)
        record = updated(_record(connection, run_id), event, at)
        connection.execute(
            "INSERT INTO entries (run_id, sequence, at, version, type, body, evidence_id, digest, seconds) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (run_id, row.sequence, row.at, CODEC_VERSION, kind, body, evidence_id, digest, seconds),
        )
        if record is not None:
            put_record(connection, record, digest)
    return Entry(row.sequence, at, event, seconds), (row.sequence, digest)


def _end(connection: sqlite3.Connection, run_id: str) -> Head:
    """The last entry's sequence and digest; 0 and START for a run without entries."""
    row = connection.execute(
        "SELECT sequence, CAST(COALESCE(digest, '') AS BLOB) FROM entries WHERE run_id = ? "
        "ORDER BY sequence DESC LIMIT 1",
        (run_id,),
    ).fetchone()
    return (0, START) if row is None else row


def _refuse_changed(
    connection: sqlite3.Connection, run_id: str, end: Head, known: Head | None, *, whole: bool, alone: bool
) -> None:
    """Raises RecordChanged if the record doesn't end where this process, which writes the run `alone`, has left it; but
    somebody who can't see it alive may have taken it for dead, which only interrupts the run.
    Where others may have written since, and of the `whole` record, if anything is not as it was written."""
    why = ""
    if alone and known is not None and known != end:
        (before, _), (last, _) = known, end
        if last <= before:
            why = _not_as_written(before) if last == before else _missing(last + 1)
        else:
            added, why = _as_written(connection, run_id, known)
            if why or any(row.type != RunInterrupted.__name__ for row in added):
                why = f"entry {before + 1} is not by the process that pursues it"
    elif known != end or whole:
        _, why = _as_written(connection, run_id)
    if why:
        raise RecordChanged(run_id, f"{why}; {CHANGED_BY_OTHERS}")


def _as_written(connection: sqlite3.Connection, run_id: str, after: Head | None = None) -> tuple[list[_Row], str]:
    """The unchanged entries that follow one, and why the next entry is not as it was written; that reason is empty if
    there is no such entry. After None: all entries, with a check that none is missing at the end."""
    sequence, before = after or (0, START)
    found: list[_Row] = []
    for values in connection.execute(
        f"SELECT run_id, sequence, at, version, type, seconds, evidence_id, digest, {_BODY} FROM entries "  # noqa: S608  # constant
        "WHERE run_id = ? AND sequence > ? ORDER BY sequence",
        (run_id, sequence),
    ):
        row = _Row(*values)
        expected = sequence + len(found) + 1
        if row.sequence != expected:
            return found, _missing(expected)
        if not row.follows(before):
            return found, _not_as_written(expected)
        found.append(row)
        before = row.digest
    cut_off = after is None and found and _end_on_list(connection, run_id) not in (None, before)
    return found, _missing(sequence + len(found) + 1) if cut_off else ""


def _missing(sequence: int) -> str:
    return f"entry {sequence} is missing"


def _not_as_written(sequence: int) -> str:
    return f"entry {sequence} is not as it was written"


def _end_on_list(connection: sqlite3.Connection, run_id: str) -> object:
    """The digest of the last entry of a run, as its line in the list has it; None for a run that is not listed."""
    row = connection.execute("SELECT last_digest FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return None if row is None else row[0]


def entries(connection: sqlite3.Connection, run_id: str, after: int) -> list[Entry]:
    """See `ports.Ledger`."""
    with _one_moment(connection):
        if _is_being_removed(connection, run_id):
            return []
        before = _checked(connection, run_id, after) if after > 0 else None
        if after > 0 and before is None:
            return []  # the caller already knows that nothing counts from there on
        rows, why = _as_written(connection, run_id, None if before is None else (after, before.digest))
        if not rows and after <= 0 and _is_listed(connection, run_id):
            raise UnreadableRun(run_id, f"{why or 'it has no entries'}; {CHANGED_BY_OTHERS}")
    found = [row.entry() for row in rows]
    if why:
        at = found[-1].at if found else before.at if before is not None else 0.0
        reason = f"{why}; {CHANGED_BY_OTHERS}"
        found.append(Entry(after + len(found) + 1, at, RunEnded("crashed", reason, broken=True), 0.0))
    return found


def _checked(connection: sqlite3.Connection, run_id: str, sequence: int) -> _Row | None:
    """One entry; None if it is not as it was written after the one before it."""
    rows = connection.execute(
        f"SELECT run_id, sequence, at, version, type, seconds, evidence_id, digest, {_BODY} FROM entries "  # noqa: S608  # constant
        "WHERE run_id = ? AND sequence IN (?, ?) ORDER BY sequence",
        (run_id, sequence - 1, sequence),
    ).fetchall()
    before = _Row(*rows[0]).digest if len(rows) == 2 else START if sequence == 1 else None
    row = _Row(*rows[-1]) if rows else None
    return row if row is not None and row.sequence == sequence and row.follows(before) else None


def evidence(connection: sqlite3.Connection, run_id: str, evidence_id: str) -> Evidence | None:
    """The latest evidence with that id; None if it is not as it was written."""
    found = connection.execute(
        "SELECT sequence FROM entries WHERE run_id = ? AND evidence_id = ? ORDER BY sequence DESC",
        (run_id, evidence_id),
    )
    for (sequence,) in found.fetchall():
        row = _checked(connection, run_id, sequence)
        event = None if row is None else row.event()
        if isinstance(event, EvidenceRecorded):
            return event.evidence
    return None


def trouble(connection: sqlite3.Connection, run_id: str) -> Trouble | None:
    """What is wrong with a run on the list; None if it is as it was written and can be read, or was removed."""
    with _one_moment(connection):
        rows, why = _as_written(connection, run_id)
        if not rows and not _is_listed(connection, run_id):
            return None
    if not rows:
        return Trouble("unreadable", f"{why or 'it has no entries'}; {CHANGED_BY_OTHERS}")
    try:
        # Entries that this version wrote can be read and need no decoding.
        if any(row.version != CODEC_VERSION for row in rows):
            state: RunState | None = None
            for row in rows:
                state = fold_read(run_id, state, row.entry())
    except UnreadableRun as error:
        return Trouble("unreadable", error.why)
    return Trouble("crashed", f"{why}; {CHANGED_BY_OTHERS}") if why else None


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Generator[None]:
    """Gives all reads one consistent state, whatever others write meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def link_entries(connection: sqlite3.Connection) -> None:
    """Gives every existing entry of a ledger its digest, as it is."""
    ends: dict[str, bytes] = {}
    rows = connection.execute(
        f"SELECT rowid, run_id, sequence, at, version, type, seconds, evidence_id, digest, {_BODY} FROM entries "  # noqa: S608  # constant
        "ORDER BY run_id, sequence"
    )
    digests: list[tuple[bytes, int]] = []
    for rowid, *values in rows:
        row = _Row(*values)
        ends[row.run_id] = row.linked(ends.get(row.run_id, START))
        digests.append((ends[row.run_id], rowid))
    connection.executemany("UPDATE entries SET digest = ? WHERE rowid = ?", digests)
    lines = [(end, run_id) for run_id, end in ends.items()]
    connection.executemany("UPDATE runs SET last_digest = ? WHERE run_id = ?", lines)


def _is_listed(connection: sqlite3.Connection, run_id: str) -> bool:
    return connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone() is not None


def _is_time(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


# ------------------------------------------------------------------------------------------------- runs

_COLUMNS = tuple(one.name for one in fields(RunRecord))
_LISTED = ", ".join(_COLUMNS)


def runs(connection: sqlite3.Connection) -> list[RunSummary]:
    lines = connection.execute(f"SELECT {_LISTED} FROM runs ORDER BY rowid DESC").fetchall()  # noqa: S608  # constant
    return [(_as_record(line) or _again(connection, line)).summary() for line in lines]


def _record(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    line = connection.execute(f"SELECT {_LISTED} FROM runs WHERE run_id = ?", (run_id,)).fetchone()  # noqa: S608  # constant
    return None if line is None else _as_record(line) or _again(connection, line)


_STANDINGS = frozenset({None, "running", "waiting", "paused", "interrupted", *END_STATUSES})


def _as_record(row: tuple[Any, ...]) -> RunRecord | None:
    """None if the row holds what is never written."""
    try:
        line = {**dict(zip(_COLUMNS, row, strict=True)), "open_interrupts": json.loads(row[-1])}
        record = cast("RunRecord", shape_of(RunRecord).read(line))
    except (TypeError, ValueError):
        return None
    return record if record.standing in _STANDINGS else None


def _again(connection: sqlite3.Connection, row: tuple[Any, ...]) -> RunRecord:
    """Rebuilds a run's line from its readable entries: the one on record holds what is never written."""
    run_id = str(row[0])
    record: RunRecord | None = None
    try:
        for found in _as_written(connection, run_id)[0]:
            record = updated(record, found.event(), found.at)
    except UnreadableRun:
        record = None
    return record or RunRecord(run_id, "pursue", str(row[2]), None, None, 0.0, 0.0)


def put_record(connection: sqlite3.Connection, record: RunRecord, end: bytes) -> None:
    """Writes a run's line in the list, after the entry with that digest."""
    line = shape_of(RunRecord).write(record)
    line |= {"open_interrupts": json.dumps(line["open_interrupts"]), "last_digest": end}
    changed = ", ".join(f"{column} = excluded.{column}" for column in line)
    connection.execute(
        f"INSERT INTO runs ({', '.join(line)}) VALUES ({', '.join('?' * len(line))}) "  # noqa: S608  # constant
        f"ON CONFLICT (run_id) DO UPDATE SET {changed}",
        tuple(line.values()),
    )


# ------------------------------------------------------------------------------------- keeping and removing


def keep(connection: sqlite3.Connection, run_id: str, on: bool) -> None:
    with transaction(connection):
        if not _is_listed(connection, run_id):
            raise no_such_run(run_id)
        wanted = "INSERT OR IGNORE INTO kept (run_id) VALUES (?)" if on else "DELETE FROM kept WHERE run_id = ?"
        connection.execute(wanted, (run_id,))


def kept(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(str(run_id) for (run_id,) in connection.execute("SELECT run_id FROM kept"))


def entry_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """By the highest sequence of each, which costs one look into the index."""
    last = "(SELECT MAX(sequence) FROM entries WHERE entries.run_id = runs.run_id)"
    return {str(run): int(count or 0) for run, count in connection.execute(f"SELECT run_id, {last} FROM runs")}  # noqa: S608  # constant


def trees(connection: sqlite3.Connection, run_id: str) -> frozenset[str]:
    # Of an older version, any type may name one.
    rows = connection.execute(
        f"SELECT {_BODY} FROM entries WHERE run_id = ? "  # noqa: S608  # constant
        "AND (version <> ? OR type IN (SELECT value FROM json_each(?)))",
        (run_id, CODEC_VERSION, json.dumps(NAMING_TREES)),
    )
    return frozenset(tree for (body,) in rows for tree in trees_in(bytes(body).decode("ascii", "replace")))


_OF_A_RUN = ("runs", "live")
REMOVED_AT_ONCE = 5_000
"""Entries: so many can be removed while somebody waits to append."""


def begin_to_remove(connection: sqlite3.Connection, run_id: str, updated_at: float) -> bool:
    """From now on there is no such run. Its entries are left to `remove_some`, whoever calls that."""
    with transaction(connection):
        row = connection.execute(
            "SELECT updated_at FROM runs WHERE run_id = ? AND run_id NOT IN (SELECT run_id FROM kept)", (run_id,)
        ).fetchone()
        if row is None or row[0] != updated_at:
            return False
        connection.execute("INSERT OR IGNORE INTO removing (run_id) VALUES (?)", (run_id,))
        for table in _OF_A_RUN:
            connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608  # constant
    return True


def remove_some(connection: sqlite3.Connection) -> bool:
    """Removes some entries of a run that is being removed. False if nothing is left of any."""
    with transaction(connection):
        row = connection.execute("SELECT run_id FROM removing LIMIT 1").fetchone()
        if row is None:
            return False
        removed = connection.execute(
            "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE run_id = ? LIMIT ?)",
            (row[0], REMOVED_AT_ONCE),
        ).rowcount
        if removed < REMOVED_AT_ONCE:
            connection.execute("DELETE FROM removing WHERE run_id = ?", row)
    return True


def _is_being_removed(connection: sqlite3.Connection, run_id: str) -> bool:
    return connection.execute("SELECT 1 FROM removing WHERE run_id = ?", (run_id,)).fetchone() is not None


def compact(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# -------------------------------------------------------------------------------------------- live state


_LIVE = tuple(one.name for one in fields(Live))


def set_live(connection: sqlite3.Connection, run_id: str, live: Live) -> None:
    connection.execute(
        f"INSERT OR REPLACE INTO live (run_id, {', '.join(_LIVE)}) VALUES (?, ?, ?, ?, ?)",  # noqa: S608  # constant
        (run_id, *shape_of(Live).write(live).values()),
    )


def live(connection: sqlite3.Connection, run_id: str) -> Live:
    row = connection.execute(f"SELECT {', '.join(_LIVE)} FROM live WHERE run_id = ?", (run_id,)).fetchone()  # noqa: S608  # constant
    try:
        return Live() if row is None else cast("Live", shape_of(Live).read(dict(zip(_LIVE, row, strict=True))))
    except ShapeError:
        return Live()  # something else wrote it


def data_version(connection: sqlite3.Connection) -> int:
    """Differs from this connection's last value once another connection has committed."""
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return version

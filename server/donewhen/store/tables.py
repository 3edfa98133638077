"""The statements of the ledger: blocking functions of one connection, each a single transaction."""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from donewhen.core.errors import CHANGED_BY_OTHERS, LedgerTooNew, Overtaken, UnreadableRun
from donewhen.core.events import END_STATUSES, CheckFinished, Entry, Event, EvidenceRecorded
from donewhen.core.evidence import Evidence
from donewhen.core.fold import fold_read
from donewhen.core.state import RunState
from donewhen.ports import Live, Reply, Request, RunSummary
from donewhen.store.codec import CODEC_VERSION, UnreadableEvent, decode, encode
from donewhen.store.summary import RunRecord, updated


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All of it or nothing. IMMEDIATE: the lock is taken before anything is read, so no decision is outdated."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk rolls back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


# ---------------------------------------------------------------------------------------------- entries


def append(
    connection: sqlite3.Connection,
    run_id: str,
    event: Event,
    at: float,
    seconds: float | None = None,
    after: int | None = None,
) -> Entry:
    """Appends with the next sequence of the run and keeps its summary in step; raises Overtaken where `after` is given
    and is not the last one."""
    body = encode(event)
    evidence_id = event.evidence.id if isinstance(event, CheckFinished | EvidenceRecorded) else None
    with transaction(connection):
        (last,) = connection.execute("SELECT MAX(sequence) FROM entries WHERE run_id = ?", (run_id,)).fetchone()
        if after is not None and (last or 0) != after:
            raise Overtaken(f"run {run_id} went on after entry {after}")
        sequence = (last or 0) + 1
        checksum = zlib.crc32(body.encode("ascii"))
        connection.execute(
            "INSERT INTO entries (run_id, sequence, at, version, type, body, evidence_id, checksum, seconds) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (run_id, sequence, at, CODEC_VERSION, type(event).__name__, body, evidence_id, checksum, seconds),
        )
        record = updated(_record(connection, run_id), event, at)
        if record is not None:
            _put_record(connection, run_id, record)
    return Entry(sequence, at, event, seconds)


def entries(connection: sqlite3.Connection, run_id: str, after: int) -> list[Entry]:
    """Raises UnreadableRun, which names the first entry that is damaged, missing or of a newer version."""
    found: list[Entry] = []
    for sequence, at, version, seconds, body in connection.execute(
        f"SELECT sequence, at, version, seconds, {_BODY} FROM entries "  # noqa: S608  # constant
        "WHERE run_id = ? AND sequence > ? ORDER BY sequence",
        (run_id, after),
    ):
        expected = after + len(found) + 1
        if sequence != expected:
            raise UnreadableRun(run_id, f"entry {expected} is missing; {CHANGED_BY_OTHERS}")
        event = _event(run_id, sequence, body, version)
        lasted = None if seconds is None else _time(run_id, sequence, seconds)
        found.append(Entry(sequence, _time(run_id, sequence, at), event, lasted))
    if not found and not after and _is_listed(connection, run_id):
        raise UnreadableRun(run_id, f"it has no entries; {CHANGED_BY_OTHERS}")
    return found


def evidence(connection: sqlite3.Connection, run_id: str, evidence_id: str) -> Evidence | None:
    row = connection.execute(
        f"SELECT sequence, version, {_BODY} FROM entries WHERE run_id = ? AND evidence_id = ? "  # noqa: S608  # constant
        "ORDER BY sequence DESC LIMIT 1",
        (run_id, evidence_id),
    ).fetchone()
    if row is None:
        return None
    sequence, version, body = row
    event = _event(run_id, sequence, body, version)
    return event.evidence if isinstance(event, CheckFinished | EvidenceRecorded) else None


def unreadable(connection: sqlite3.Connection, run_id: str) -> str | None:
    """Why a run that is on the list can't be read; None where it can."""
    if _is_as_written(connection, run_id):
        return None
    try:
        state: RunState | None = None
        for entry in entries(connection, run_id, 0):
            state = fold_read(run_id, state, entry)
    except UnreadableRun as error:
        return error.why
    return None


def _is_as_written(connection: sqlite3.Connection, run_id: str) -> bool:
    """True where each entry of the run is as this version wrote it: then it can be read, and nothing needs decoding."""
    rows = connection.execute(
        f"SELECT sequence, at, seconds, version, checksum, {_BODY} FROM entries WHERE run_id = ? ORDER BY sequence",  # noqa: S608  # constant
        (run_id,),
    )
    count = 0
    for count, (sequence, at, seconds, version, checksum, body) in enumerate(rows, 1):
        if (sequence, version, checksum) != (count, CODEC_VERSION, body and zlib.crc32(body)):
            return False
        if not _is_time(at) or not (seconds is None or _is_time(seconds)):
            return False
    return count > 0


def _is_listed(connection: sqlite3.Connection, run_id: str) -> bool:
    return connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone() is not None


_BODY = "CAST(body AS BLOB)"
"""Text that is not UTF-8 can't be read as text: one such entry is to be named, like any other that is damaged."""


def _event(run_id: str, sequence: int, body: object, version: object) -> Event:
    try:
        if not isinstance(version, int) or not isinstance(body, bytes):
            raise UnreadableEvent(f"its version is {version!r:.20} and its text {type(body).__name__}")
        return decode(body, version)
    except LedgerTooNew as error:
        raise UnreadableRun(run_id, f"entry {sequence}: {error}; other runs are not affected") from error
    except UnreadableEvent as error:
        raise UnreadableRun(run_id, f"entry {sequence}: {error}; {CHANGED_BY_OTHERS}") from error


def _time(run_id: str, sequence: int, at: object) -> float:
    if isinstance(at, float) and math.isfinite(at):
        return at
    raise UnreadableRun(run_id, f"entry {sequence}: its time is {at!r:.30}; {CHANGED_BY_OTHERS}")


def _is_time(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


# ------------------------------------------------------------------------------------------------- runs

_COLUMNS = "run_id, mode, title, goal_path, standing, started_at, updated_at, open_interrupts"


def runs(connection: sqlite3.Connection) -> list[RunSummary]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY rowid DESC").fetchall()  # noqa: S608  # constant
    return [(_as_record(row) or _again(connection, row)).summary() for row in rows]


def _record(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE run_id = ?", (run_id,)).fetchone()  # noqa: S608  # constant
    return None if row is None else _as_record(row) or _again(connection, row)


_STANDINGS = frozenset({None, "running", "waiting", "paused", "interrupted", *END_STATUSES})


def _as_record(row: tuple[Any, ...]) -> RunRecord | None:
    """None where the row is not as it was written."""
    run_id, mode, title, goal_path, standing, started_at, updated_at, interrupts = row
    texts = (run_id, title, "" if goal_path is None else goal_path)
    if not all(isinstance(one, str) for one in texts) or mode not in ("pursue", "audit") or standing not in _STANDINGS:
        return None
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in (started_at, updated_at)):
        return None
    try:
        asked = cast("object", json.loads(interrupts))
    except (TypeError, ValueError):
        return None
    if not isinstance(asked, list):
        return None
    ids = frozenset(map(str, cast("list[object]", asked)))
    return RunRecord(run_id, mode, title, goal_path, standing, started_at, updated_at, ids)


def _again(connection: sqlite3.Connection, row: tuple[Any, ...]) -> RunRecord:
    """A run's line from its entries, as far as they can be read: the one on record is not as it was written."""
    run_id = str(row[0])
    record: RunRecord | None = None
    try:
        for entry in entries(connection, run_id, 0):
            record = updated(record, entry.event, entry.at)
    except UnreadableRun:
        record = None
    return record or RunRecord(run_id, "pursue", str(row[2]), None, None, 0.0, 0.0)


def _put_record(connection: sqlite3.Connection, run_id: str, record: RunRecord) -> None:
    connection.execute(
        f"INSERT INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE SET "  # noqa: S608  # constant
        "mode = excluded.mode, title = excluded.title, goal_path = excluded.goal_path, standing = excluded.standing, "
        "updated_at = excluded.updated_at, open_interrupts = excluded.open_interrupts",
        (
            run_id,
            record.mode,
            record.title,
            record.goal_path,
            record.standing,
            record.started_at,
            record.updated_at,
            json.dumps(sorted(record.open_interrupts)),
        ),
    )


# -------------------------------------------------------------------------------------------- live state


def set_live(connection: sqlite3.Connection, run_id: str, live: Live) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO live (run_id, activity, alive_at, elapsed) VALUES (?, ?, ?, ?)",
        (run_id, live.activity, live.alive_at, live.elapsed),
    )


def live(connection: sqlite3.Connection, run_id: str) -> Live:
    row = connection.execute("SELECT activity, alive_at, elapsed FROM live WHERE run_id = ?", (run_id,)).fetchone()
    if row is None:
        return Live()
    activity, *times = row
    return Live(None if activity is None else str(activity), *(at if _is_time(at) else 0.0 for at in times))


def data_version(connection: sqlite3.Connection) -> int:
    """Differs from the last value of this connection once another connection committed."""
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return version


# ---------------------------------------------------------------------------------- requests and replies


def request(connection: sqlite3.Connection, run_id: str, operation: str, arguments: Mapping[str, object]) -> int:
    text = json.dumps(dict(arguments), allow_nan=False)
    cursor = connection.execute(
        "INSERT INTO requests (run_id, operation, arguments) VALUES (?, ?, ?)", (run_id, operation, text)
    )
    assert cursor.lastrowid is not None  # an INSERT sets it
    return cursor.lastrowid


def take_requests(connection: sqlite3.Connection, run_ids: Sequence[str]) -> list[Request]:
    """Marks and returns the open ones in one transaction, so that no two owners get the same."""
    wanted = json.dumps(list(run_ids))
    open_ones = "taken = 0 AND run_id IN (SELECT value FROM json_each(?))"
    # An idle owner asks often: without anything to take it takes no write lock.
    if connection.execute(f"SELECT 1 FROM requests WHERE {open_ones} LIMIT 1", (wanted,)).fetchone() is None:  # noqa: S608  # constant
        return []
    with transaction(connection):
        rows = connection.execute(
            f"UPDATE requests SET taken = 1 WHERE {open_ones} RETURNING id, run_id, operation, arguments",  # noqa: S608  # constant
            (wanted,),
        ).fetchall()
    return [Request(id_, run_id, operation, _object(text)) for id_, run_id, operation, text in sorted(rows)]


def reply(connection: sqlite3.Connection, answer: Reply) -> None:
    error, message = answer.error or (None, None)
    connection.execute(
        "INSERT OR REPLACE INTO replies (request_id, error, message, result) VALUES (?, ?, ?, ?)",
        (answer.request_id, error, message, json.dumps(dict(answer.result), allow_nan=False)),
    )


def reply_to(connection: sqlite3.Connection, request_id: int) -> Reply | None:
    row = connection.execute(
        "SELECT error, message, result FROM replies WHERE request_id = ?", (request_id,)
    ).fetchone()
    if row is None:
        return None
    error, message, result = row
    return Reply(request_id, None if error is None else (error, message), _object(result))


def _object(text: object) -> dict[str, Any]:
    """Of text that is not a JSON object, nothing: whoever reads it says what it lacks."""
    try:
        found = cast("object", json.loads(text)) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

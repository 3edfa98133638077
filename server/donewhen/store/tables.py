"""The statements of the ledger: blocking functions of one connection, each a single transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from donewhen.core.events import CheckFinished, Entry, Event, EvidenceRecorded
from donewhen.core.evidence import Evidence
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


def append(connection: sqlite3.Connection, run_id: str, event: Event, at: float) -> Entry:
    """Appends with the next sequence of the run and keeps its summary in step."""
    body = encode(event)
    evidence_id = event.evidence.id if isinstance(event, CheckFinished | EvidenceRecorded) else None
    with transaction(connection):
        (last,) = connection.execute("SELECT MAX(sequence) FROM entries WHERE run_id = ?", (run_id,)).fetchone()
        sequence = (last or 0) + 1
        connection.execute(
            "INSERT INTO entries (run_id, sequence, at, version, type, body, evidence_id) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (run_id, sequence, at, CODEC_VERSION, type(event).__name__, body, evidence_id),
        )
        record = updated(_record(connection, run_id), event, at)
        if record is not None:
            _put_record(connection, run_id, record)
    return Entry(sequence, at, event)


def entries(connection: sqlite3.Connection, run_id: str, after: int) -> list[Entry]:
    rows = connection.execute(
        "SELECT sequence, at, version, body FROM entries WHERE run_id = ? AND sequence > ? ORDER BY sequence",
        (run_id, after),
    )
    return [Entry(sequence, at, _event(run_id, sequence, body, version)) for sequence, at, version, body in rows]


def evidence(connection: sqlite3.Connection, run_id: str, evidence_id: str) -> Evidence | None:
    row = connection.execute(
        "SELECT sequence, version, body FROM entries WHERE run_id = ? AND evidence_id = ? "
        "ORDER BY sequence DESC LIMIT 1",
        (run_id, evidence_id),
    ).fetchone()
    if row is None:
        return None
    sequence, version, body = row
    event = _event(run_id, sequence, body, version)
    return event.evidence if isinstance(event, CheckFinished | EvidenceRecorded) else None


def _event(run_id: str, sequence: int, body: str, version: int) -> Event:
    try:
        return decode(body, version)
    except UnreadableEvent as error:
        raise UnreadableEvent(f"entry {sequence} of run {run_id} can't be read: {error}") from error


# ------------------------------------------------------------------------------------------------- runs

_COLUMNS = "run_id, mode, title, goal_path, standing, started_at, updated_at, open_interrupts"


def runs(connection: sqlite3.Connection) -> list[RunSummary]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY started_at DESC, rowid DESC")  # noqa: S608  # constant
    return [_as_record(row).summary() for row in rows]


def _record(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE run_id = ?", (run_id,)).fetchone()  # noqa: S608  # constant
    return None if row is None else _as_record(row)


def _as_record(row: tuple[Any, ...]) -> RunRecord:
    run_id, mode, title, goal_path, standing, started_at, updated_at, interrupts = row
    return RunRecord(
        run_id, mode, title, goal_path, standing, started_at, updated_at, frozenset(json.loads(interrupts))
    )


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
        "INSERT OR REPLACE INTO live (run_id, activity, alive_at) VALUES (?, ?, ?)",
        (run_id, live.activity, live.alive_at),
    )


def live(connection: sqlite3.Connection, run_id: str) -> Live:
    row = connection.execute("SELECT activity, alive_at FROM live WHERE run_id = ?", (run_id,)).fetchone()
    return Live() if row is None else Live(*row)


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
    return [Request(id_, run_id, operation, json.loads(text)) for id_, run_id, operation, text in sorted(rows)]


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
    return Reply(request_id, None if error is None else (error, message), json.loads(result))

"""The tables of a ledger, and how an older ledger gets them.

A migration is a function numbered by its place in MIGRATIONS; one that was released never changes. All that a ledger
lacks run in one transaction, so that a crash leaves the old ledger or the new one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence

from donewhen.core.errors import LedgerTooNew
from donewhen.store.codec import CODEC_VERSION

Migration = Callable[[sqlite3.Connection], None]


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


def _index_evidence(connection: sqlite3.Connection) -> None:
    """One piece of evidence is found without reading the whole run."""
    connection.execute("ALTER TABLE entries ADD COLUMN evidence_id TEXT")
    rows = connection.execute("SELECT rowid, body FROM entries WHERE type IN ('CheckFinished', 'EvidenceRecorded')")
    found = [(json.loads(body)["evidence"]["id"], rowid) for rowid, body in rows]
    connection.executemany("UPDATE entries SET evidence_id = ? WHERE rowid = ?", found)
    connection.execute(
        "CREATE INDEX evidence_by_id ON entries (run_id, evidence_id, sequence) WHERE evidence_id IS NOT NULL"
    )


def _sum_bodies(connection: sqlite3.Connection) -> None:
    """An entry that is as it was written is known to be readable without decoding it. Older ones have no sum."""
    connection.execute("ALTER TABLE entries ADD COLUMN checksum INTEGER")


def _keep_seconds(connection: sqlite3.Connection) -> None:
    """How long a run was worked on is not a difference of times of day, which jump."""
    connection.execute("ALTER TABLE entries ADD COLUMN seconds REAL")
    connection.execute("ALTER TABLE live ADD COLUMN elapsed REAL NOT NULL DEFAULT 0")


def _chain_entries(connection: sqlite3.Connection) -> None:
    """Each entry has a digest that holds the one before it, each line of the list one of itself and of the last entry;
    each request says who signed it. `migrate` has what is there already counted as it is."""
    connection.execute("ALTER TABLE entries RENAME COLUMN checksum TO digest")
    connection.execute("ALTER TABLE runs ADD COLUMN seal BLOB")
    connection.execute("ALTER TABLE requests ADD COLUMN signed TEXT NOT NULL DEFAULT '{}'")


MIGRATIONS: tuple[Migration, ...] = (_create, _index_evidence, _sum_bodies, _keep_seconds, _chain_entries)

SCHEMA_VERSION = len(MIGRATIONS)
_CHAINED = 5
"""The first schema whose entries are chained."""


def migrate(
    connection: sqlite3.Connection,
    chained: Callable[[sqlite3.Connection], None],
    migrations: Sequence[Migration] = MIGRATIONS,
) -> None:
    """Brings a ledger to the newest schema, in one transaction; `chained` gives the digests to what is in an older one.
    Raises LedgerTooNew before it writes anything."""
    if versions(connection) == (len(migrations), CODEC_VERSION):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have migrated while this one waited for the lock.
        schema, _ = versions(connection)
        for step in migrations[schema:]:
            step(connection)
        if 0 < schema < _CHAINED:
            chained(connection)
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
    """(schema, codec) of a ledger, (0, 0) for an empty file. Raises LedgerTooNew, and ForeignDatabase."""
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
            "upgrade Done When, or choose another state folder (--state-dir)"
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

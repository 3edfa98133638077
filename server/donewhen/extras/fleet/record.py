"""What is kept of one fleet on this machine: an SQLite file for each, beside the workspaces in the state folder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from donewhen.core.errors import AlreadyRunning, LedgerUnavailable, UsageError
from donewhen.store.folders import private_folder, state_folder
from donewhen.workspace.locks import FileRunLock

_FILE = "fleet.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS board (one INTEGER PRIMARY KEY CHECK (one = 1), document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """What somebody in another process asks of a fleet."""

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


def open_fleet_record(name: str, state_dir: Path | None) -> FleetRecord:
    """The record of the fleet of that name; made if there is none. Raises LedgerUnavailable."""
    folder = private_folder(state_folder(state_dir) / "fleets" / name)
    return FleetRecord(folder)


def fleet_on_record(name: str, state_dir: Path | None) -> FleetRecord:
    """The record of a fleet that ran here. Raises UsageError, and makes none, where there is no such fleet."""
    if not (state_folder(state_dir) / "fleets" / name / _FILE).exists():
        raise unknown_fleet(name)
    return open_fleet_record(name, state_dir)


def unknown_fleet(name: str) -> UsageError:
    return UsageError(f"there is no fleet {name} here: `donewhen fleet run MANIFEST` starts one")


class FleetRecord:
    """What is kept of one fleet, in a folder. One process drives it at a time, any may ask. Raises LedgerUnavailable if
    it can't be opened."""

    def __init__(self, folder: Path) -> None:
        self._lock, self._leads, self._last = FileRunLock(folder), False, ""
        try:
            self._connection = sqlite3.connect(folder / _FILE, timeout=10, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise LedgerUnavailable(f"the record of the fleet in {folder} can't be opened: {error}") from error

    def board(self) -> Mapping[str, Any] | None:
        """The board as it was last kept, as JSON values; None for a fleet that never ran."""
        row = self._connection.execute("SELECT document FROM board").fetchone()
        return None if row is None else json.loads(row[0])

    def keep(self, board: Mapping[str, Any]) -> None:
        text = json.dumps(board)
        if text != self._last:
            self._connection.execute("INSERT OR REPLACE INTO board VALUES (1, ?)", (text,))
            self._last = text

    def ask(self, request: FleetRequest) -> None:
        """Keeps a request until whoever drives the fleet takes it."""
        text = json.dumps([request.operation, dict(request.arguments)])
        self._connection.execute("INSERT INTO requests (document) VALUES (?)", (text,))

    def take(self) -> Sequence[FleetRequest]:
        """All requests that nobody has taken, the oldest first; nobody else gets them."""
        rows = self._connection.execute("SELECT id, document FROM requests ORDER BY id").fetchall()
        for number, _ in rows:
            self._connection.execute("DELETE FROM requests WHERE id = ?", (number,))
        return [FleetRequest(*json.loads(text)) for _, text in rows]

    def lead(self) -> None:
        """This process drives it, until `close`. Raises UsageError while another one does."""
        try:
            self._lock.acquire("fleet", "fleet")
        except AlreadyRunning:
            owner = self._lock.owner()
            who = f"process {owner.pid}" if owner is not None else "another process"
            raise UsageError(
                f"{who} runs this fleet: follow it with `donewhen fleet status`, or end that one"
            ) from None
        self._leads = True

    @property
    def led(self) -> bool:
        """Whether a live process drives it."""
        return self._lock.owner() is not None

    def close(self) -> None:
        if self._leads:
            self._lock.release()
        with suppress(sqlite3.Error):
            self._connection.close()

"""The records of fleets: an SQLite file for each, beside the workspaces in the state folder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from donewhen.core.errors import AlreadyRunning, LedgerUnavailable, UsageError
from donewhen.ports import FleetRequest, RunLock
from donewhen.store.folders import private_folder, state_folder

_SCHEMA = """
CREATE TABLE IF NOT EXISTS board (one INTEGER PRIMARY KEY CHECK (one = 1), document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL);
"""


def fleet_folder(state_dir: Path | None, name: str) -> Path:
    """Where the record of a fleet of that name is. Raises LedgerUnavailable."""
    return private_folder(state_folder(state_dir) / "fleets" / name)


class SqliteFleetRecord:
    """`ports.FleetRecord` in a folder; `lock` says who drives it. Raises LedgerUnavailable if it can't be opened."""

    def __init__(self, folder: Path, lock: RunLock) -> None:
        self._lock, self._leads, self._last = lock, False, ""
        try:
            self._connection = sqlite3.connect(folder / "fleet.sqlite", timeout=10, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise LedgerUnavailable(f"the record of the fleet in {folder} can't be opened: {error}") from error

    def board(self) -> Mapping[str, Any] | None:
        row = self._connection.execute("SELECT document FROM board").fetchone()
        return None if row is None else json.loads(row[0])

    def keep(self, board: Mapping[str, Any]) -> None:
        text = json.dumps(board)
        if text != self._last:
            self._connection.execute("INSERT OR REPLACE INTO board VALUES (1, ?)", (text,))
            self._last = text

    def ask(self, request: FleetRequest) -> None:
        text = json.dumps([request.operation, dict(request.arguments)])
        self._connection.execute("INSERT INTO requests (document) VALUES (?)", (text,))

    def take(self) -> Sequence[FleetRequest]:
        rows = self._connection.execute("SELECT id, document FROM requests ORDER BY id").fetchall()
        for number, _ in rows:
            self._connection.execute("DELETE FROM requests WHERE id = ?", (number,))
        return [FleetRequest(*json.loads(text)) for _, text in rows]

    def lead(self) -> None:
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
        return self._lock.owner() is not None

    def close(self) -> None:
        if self._leads:
            self._lock.release()
        with suppress(sqlite3.Error):
            self._connection.close()


class MemoryFleetRecord:
    """`ports.FleetRecord` of one process, for tests and fleets that nobody else asks."""

    def __init__(self) -> None:
        self._board: str | None = None
        self._requests: list[FleetRequest] = []
        self._leads = False

    def board(self) -> Mapping[str, Any] | None:
        return None if self._board is None else json.loads(self._board)

    def keep(self, board: Mapping[str, Any]) -> None:
        self._board = json.dumps(board)

    def ask(self, request: FleetRequest) -> None:
        self._requests.append(request)

    def take(self) -> Sequence[FleetRequest]:
        taken, self._requests = self._requests, []
        return taken

    def lead(self) -> None:
        if self._leads:
            raise UsageError("this process runs this fleet already")
        self._leads = True

    @property
    def led(self) -> bool:
        return self._leads

    def close(self) -> None:
        self._leads = False

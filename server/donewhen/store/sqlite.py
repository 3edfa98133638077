"""The ledger on disk: one SQLite file per workspace folder, written by one thread."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from donewhen.core.errors import LedgerUnavailable, RecordGone
from donewhen.core.events import Entry, Event
from donewhen.core.evidence import Evidence
from donewhen.ports import Live, RunSummary, Trouble
from donewhen.store import tables
from donewhen.store.opening import Stamp, ledger_error, open_ledger, read_ledger, stamp_of

Fault = Callable[[str], None]
"""Called with the name of the event's type after each append that is on disk: tests inject a crash here."""


Listen = Callable[[Path, Callable[[], None]], tuple[Callable[[], bool], Callable[[], None]]]
"""Calls a function in the running loop whenever something changed in a folder. Returns what says whether that is so
(the system may refuse to tell, at any time: then one has to look), and what ends it. Nothing is lost by hearing of more
than of the ledger."""

_LOOKS_AFTER = 30.0
"""Seconds: what others write is heard of before its commit is seen, which comes once the disk has it."""

P = ParamSpec("P")
T = TypeVar("T")


class SqliteLedger:
    """The durable record of the runs of one workspace folder (ports.Ledger).

    `notices` says what a person should know about the opening, such as a damaged file that was moved away.
    Several processes may have the same file open.
    """

    notices: tuple[str, ...]

    def __init__(self, path: Path, *, fault: Fault | None = None, listen: Listen | None = None) -> None:
        self._path = path
        self._fault = fault
        self._listen = listen
        self.notices = ()
        # The second thread: every call that may block (SQLite, and the JSON of large evidence) happens in it and
        # nowhere else, in the order of the calls. So the event loop is never blocked, and neither the connection nor
        # `_full` needs a lock.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._connection: sqlite3.Connection | None = None
        self._heads: dict[str, tables.Head] = {}
        """Where each run ended after this process's last append."""
        self._was_read: set[str] = set()
        self._full = True
        self._file: tuple[int, int] | None = None
        """Which file was opened: what is written to one that was deleted is lost."""
        self._closed = False
        self._followed: set[asyncio.Event] = set()
        """Wakes whoever follows the changes."""
        self._refusal: str | None = None
        self._copy_of: Stamp | None = None

    @classmethod
    async def open(cls, path: Path, *, fault: Fault | None = None, listen: Listen | None = None) -> SqliteLedger:
        """Opens, creates or migrates the file at `path`. With `listen`, it hears of changes; without it, changes by
        others are looked for. Raises LedgerTooNew and LedgerUnavailable."""
        return await cls(path, fault=fault, listen=listen)._opened()

    @classmethod
    async def read(cls, path: Path, refusal: str) -> SqliteLedger:
        """Opens a file in a folder, neither of which can be written; whatever would write raises LedgerUnavailable with
        `refusal`. Raises LedgerTooNew, and LedgerUnavailable if the file can't be read either."""
        ledger = cls(path)
        ledger._refusal = refusal
        return await ledger._opened()

    async def _opened(self) -> SqliteLedger:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._open)
        except BaseException:
            await self.close()
            raise
        return self

    async def append(
        self,
        run_id: str,
        event: Event,
        at: float,
        *,
        durable: bool = True,
        seconds: float | None = None,
        after: int | None = None,
        alone: bool = False,
    ) -> Entry:
        return await self._in_thread(self._append, run_id, event, at, durable, seconds, after, alone)

    async def entries(self, run_id: str, after: int = 0) -> Sequence[Entry]:
        return await self._read_run(tables.entries, run_id, after)

    async def runs(self) -> Sequence[RunSummary]:
        return await self._in_thread(tables.runs)

    async def evidence(self, run_id: str, evidence_id: str) -> Evidence | None:
        return await self._in_thread(tables.evidence, run_id, evidence_id)

    async def trouble(self, run_id: str) -> Trouble | None:
        return await self._in_thread(tables.trouble, run_id)

    async def keep(self, run_id: str, on: bool) -> None:
        await self._write(True, tables.keep, run_id, on)

    async def kept(self) -> frozenset[str]:
        return await self._in_thread(tables.kept)

    async def entry_counts(self) -> Mapping[str, int]:
        return await self._in_thread(tables.entry_counts)

    async def trees(self, run_id: str) -> frozenset[str]:
        return await self._in_thread(tables.trees, run_id)

    async def remove(self, run_id: str, updated_at: float) -> bool:
        removed = await self._in_thread(self._begin_to_remove, run_id, updated_at)
        # Bit by bit, so that an append has to wait for one bit at most. A crash leaves the rest to the next time.
        while await self._write(False, tables.remove_some):
            pass
        return removed

    async def compact(self) -> None:
        await self._write(True, tables.compact)

    async def set_live(self, run_id: str, live: Live) -> None:
        await self._write(False, tables.set_live, run_id, live)

    async def live(self, run_id: str) -> Live:
        return await self._in_thread(tables.live, run_id)

    async def changes(self, poll: float = 0.1) -> AsyncIterator[None]:
        """Yields at once, since there may be earlier changes, then after every change by another connection, at most
        once per `poll` seconds. Ends when the ledger is closed. Raises RecordGone once its file is gone."""
        stirred, seen, pause = asyncio.Event(), object(), poll
        hears, end = self._listen(self._path.parent, stirred.set) if self._listen is not None else (_is_deaf, _is_deaf)
        self._followed.add(stirred)
        try:
            while not self._closed:
                stirred.clear()
                version = await self._in_thread(self._version)
                if version != seen:
                    seen = version
                    yield
                await asyncio.sleep(poll)
                if hears():
                    pause = await _stirred(stirred, pause, poll)
        finally:
            self._followed.discard(stirred)
            end()

    async def close(self) -> None:
        """Ends the thread after the calls made before. Closing twice is allowed."""
        if self._closed:
            return
        self._closed = True
        for stirred in self._followed:
            stirred.set()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    async def _read_run(
        self,
        function: Callable[Concatenate[sqlite3.Connection, str, P], T],
        run_id: str,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """What is read of a run; that there was something is noted, in the order of the calls."""

        def noted(connection: sqlite3.Connection) -> T:
            found = function(connection, run_id, *args, **kwargs)
            if found:
                self._was_read.add(run_id)
            return found

        return await self._in_thread(noted)

    async def _write(
        self, full: bool, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def synced(connection: sqlite3.Connection) -> T:
            self._sync(connection, full=full)
            return function(connection, *args, **kwargs)

        return await self._in_thread(synced)

    async def _in_thread(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def call() -> T:
            if self._connection is None:
                raise LedgerUnavailable(f"the record of runs {self._path} is closed")
            try:
                return function(self._connection, *args, **kwargs)
            except sqlite3.Error as error:
                raise ledger_error(error, self._path) from error

        if self._closed:
            raise LedgerUnavailable(f"the record of runs {self._path} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    # ------------------------------------------------------------------------------- in the ledger's thread

    def _open(self) -> None:
        if self._refusal is None:
            self._connection, self.notices = open_ledger(self._path)
        else:
            self._connection, self._copy_of = read_ledger(self._path)
        self._file = self._present()

    def _version(self, connection: sqlite3.Connection) -> object:
        """Differs from the last value once another connection has written. Raises RecordGone."""
        if self._copy_of is None:
            self._refuse_gone()
            return tables.data_version(connection)
        try:
            if stamp_of(self._path) != self._copy_of:
                self._connection, self._copy_of = read_ledger(self._path)
                connection.close()
        except OSError as error:
            raise LedgerUnavailable(f"the record of runs {self._path} can't be read ({error})") from error
        return self._copy_of

    def _append(
        self,
        connection: sqlite3.Connection,
        run_id: str,
        event: Event,
        at: float,
        durable: bool,
        seconds: float | None,
        after: int | None,
        alone: bool,
    ) -> Entry:
        self._sync(connection, full=durable)
        known = self._heads.get(run_id)
        was_read = run_id in self._was_read
        entry, head = tables.append(
            connection, run_id, event, at, seconds, after, known, was_read=was_read, alone=alone
        )
        self._heads[run_id] = head
        if self._fault is not None:
            self._fault(type(event).__name__)
        return entry

    def _begin_to_remove(self, connection: sqlite3.Connection, run_id: str, updated_at: float) -> bool:
        self._sync(connection, full=True)
        removed = tables.begin_to_remove(connection, run_id, updated_at)
        if removed:
            self._heads.pop(run_id, None)
            self._was_read.add(run_id)
        return removed

    def _sync(self, connection: sqlite3.Connection, *, full: bool) -> None:
        if self._refusal is not None:
            raise LedgerUnavailable(self._refusal)
        self._refuse_gone()
        if full is not self._full:
            connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full

    def _refuse_gone(self) -> None:
        if self._present() != self._file:
            raise RecordGone(
                f"the record of runs {self._path} was deleted or moved meanwhile, and nothing more can be kept in it: "
                "put it back and run again, or set another state folder",
                typed=" (--state-dir)",
            )

    def _present(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError:
            return self._file  # it can't be looked at now, which says nothing
        return found.st_dev, found.st_ino

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _is_deaf() -> bool:
    return False


async def _stirred(stirred: asyncio.Event, pause: float, least: float) -> float:
    """Waits for news, at most `pause` seconds while a commit that was heard of may be under way; the next pause."""
    try:
        async with asyncio.timeout(pause if pause < _LOOKS_AFTER else None):
            await stirred.wait()
    except TimeoutError:
        return 2 * pause
    return least

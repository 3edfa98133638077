"""The disk of the simulated machine, and the ledger on it, as durable as docs/architecture.md promises."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from random import Random
from typing import Protocol, TypeVar

from donewhen.core.errors import LedgerError, LedgerUnavailable, Overtaken, RecordChanged
from donewhen.core.events import Entry, Event
from donewhen.ports import Live, RunSummary
from donewhen.store.codec import encode
from donewhen.store.memory import MemoryLedger

T = TypeVar("T")


class Host(Protocol):
    """The process that has a connection, as far as its ledger knows it."""

    alive: bool

    def die(self) -> None: ...


@dataclass(frozen=True)
class Written:
    run_id: str
    entry: Entry

    @cached_property
    def text(self) -> str:
        """The event as it is on record."""
        return encode(self.entry.event)


class Disk:
    """What is on record, whichever process wrote it. `written` is told of every entry that is. A crash of a process
    loses nothing of it, a power failure at most what came after the last durable append."""

    def __init__(self, random: Random, written: Callable[[str, Entry], None]) -> None:
        self._random = random
        self._written = written
        self._synced = 0
        self._synced_live: dict[str, Live] = {}
        self.log: list[Written] = []
        self.record = MemoryLedger()
        self.lost_seconds = 0.0
        """Of work, whose signs of life went with the power."""
        self.full = False
        self.delay = 0.0
        """Seconds that a write may take at most."""
        self.deadly: dict[int, bool] = {}
        """Appends, counted from 1, at which the process that makes them dies: True once it is written."""
        self.appends = 0
        self.stirred: dict[asyncio.Event, None] = {}

    def connected(self, host: Host) -> Connection:
        return Connection(self, host)

    def entries(self, run_id: str, after: int = 0) -> list[Entry]:
        """Those of the run, after the one with this number."""
        return [
            one.entry for one in islice(self.log, after, None) if one.run_id == run_id and one.entry.sequence > after
        ]

    def append(self, host: Host, run_id: str, event: Event, at: float, durable: bool, seconds: float | None) -> Entry:
        self.appends += 1
        deadly = self.deadly.get(self.appends)
        if deadly is False:
            host.die()
            raise LedgerUnavailable("the process is gone")
        if self.full:
            raise LedgerUnavailable("the disk is full: free some space, then resume")
        entry = self.record._append(run_id, event, at, seconds)
        self.log.append(Written(run_id, entry))
        if durable:
            self.sync()
        self._written(run_id, entry)
        if deadly:
            host.die()
        return entry

    def begun(self, kind: str) -> bool:
        """Whether the last entry of this type that is written at all would outlive a power failure."""
        last = max((n for n, one in enumerate(self.log) if type(one.entry.event).__name__ == kind), default=None)
        return last is not None and last < self._synced

    def sync(self) -> None:
        self._synced = len(self.log)
        self._synced_live = dict(self.record._record.live)

    def lose_power(self) -> int:
        """Leaves what was synced, and perhaps some of what came after it. Returns how many entries are gone."""
        left = self._random.randint(self._synced, len(self.log))
        lost, self.log = len(self.log) - left, self.log[:left]
        for run_id, live in self.record._record.live.items():
            self.lost_seconds += live.elapsed - self._synced_live.get(run_id, Live()).elapsed
        self.record = MemoryLedger()
        for one in self.log:
            self.record._append(one.run_id, one.entry.event, one.entry.at, one.entry.seconds)
        self.record._record.live.update(self._synced_live)
        self.sync()
        return lost

    def digest(self) -> str:
        """Of every byte on record."""
        whole = hashlib.sha256()
        for one in self.log:
            entry = one.entry
            whole.update(f"{one.run_id} {entry.sequence} {entry.at!r} {entry.seconds!r} ".encode())
            whole.update(one.text.encode())
        return whole.hexdigest()

    def seconds(self) -> float:
        return self._random.random() * self.delay

    def wake_others(self, own: asyncio.Event) -> None:
        for one in self.stirred:
            if one is not own:
                one.set()


class Connection(MemoryLedger):
    """One process's ledger. As with the one on disk, one thread does what is asked, in the order in which it is, and
    does it even where whoever asked was cancelled meanwhile."""

    def __init__(self, disk: Disk, host: Host) -> None:
        super().__init__()
        self._disk = disk
        self._host = host
        self._record = disk.record._record
        self._free_at = 0.0
        self._last: dict[str, int] = {}
        """The last entry of each run by this process."""
        self._others_wrote = asyncio.Event()

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
        def do() -> Entry:
            if alone and self._record.last(run_id) != self._last[run_id]:
                raise RecordChanged(run_id, "another process put something on record of a run that this one pursues")
            if after is not None and self._record.last(run_id) != after:
                raise Overtaken(f"run {run_id} went on after entry {after}")
            entry = self._disk.append(self._host, run_id, event, at, durable, seconds)
            self._last[run_id] = entry.sequence
            self._disk.wake_others(self._others_wrote)
            return entry

        return await self._in_thread(do)

    async def entries(self, run_id: str, after: int = 0) -> Sequence[Entry]:
        await self._turn()
        return await super().entries(run_id, after)

    async def runs(self) -> Sequence[RunSummary]:
        await self._turn()
        return await super().runs()

    async def live(self, run_id: str) -> Live:
        await self._turn()
        return await super().live(run_id)

    async def set_live(self, run_id: str, live: Live) -> None:
        await self._turn()
        if self._disk.full:
            raise LedgerUnavailable("the disk is full: free some space, then resume")
        await super().set_live(run_id, live)

    async def changes(self, poll: float = 0.1) -> AsyncIterator[None]:
        """Yields at once, then whenever others have written."""
        self._disk.stirred[self._others_wrote] = None
        try:
            while not self._closed:
                self._others_wrote.clear()
                yield
                await asyncio.sleep(poll)
                await self._others_wrote.wait()
        finally:
            self._disk.stirred.pop(self._others_wrote, None)

    async def _turn(self) -> None:
        await self._in_thread(lambda: None)

    def _in_thread(self, do: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        # Never at one moment with another: what was asked for first is done first.
        self._free_at = max(self._free_at, loop.time()) + self._disk.seconds() + 1e-6
        loop.call_at(self._free_at, self._do, do, done)
        return done

    def _do(self, do: Callable[[], T], done: asyncio.Future[T]) -> None:
        if not self._host.alive:
            done.cancel()
            return
        try:
            result = do()
        except LedgerError as error:
            if not done.done():
                done.set_exception(error)
        else:
            if not done.done():
                done.set_result(result)

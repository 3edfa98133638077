"""A ledger without a disk: for the library, and for tests of everything that uses the port."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from donewhen.core.errors import LedgerUnavailable, Overtaken, no_such_run
from donewhen.core.events import Entry, Event, EvidenceRecorded
from donewhen.core.evidence import Evidence
from donewhen.ports import Live, RunSummary, Trouble
from donewhen.store.codec import encode, trees_in
from donewhen.store.summary import RunRecord, removed_run, updated


@dataclass(slots=True)
class _Record:
    """What all connections to one ledger share."""

    entries: dict[str, deque[Entry]] = field(default_factory=lambda: defaultdict(deque))
    runs: dict[str, RunRecord] = field(default_factory=dict[str, RunRecord])
    live: dict[str, Live] = field(default_factory=dict[str, Live])
    kept: set[str] = field(default_factory=set[str])
    removed: set[str] = field(default_factory=set[str])
    writes: int = 0

    def last(self, run_id: str) -> int:
        """The sequence of a run's last entry; 0 without any."""
        entries = self.entries.get(run_id)
        return entries[-1].sequence if entries else 0


class MemoryLedger:
    """The record of one process's runs (ports.Ledger). It behaves like the ledger on disk and ends with the process.

    `keep`: of each run, only the first entry and this many of the latest are kept. This lets a long run use little
    memory, for callers that don't read further back.
    """

    def __init__(self, *, keep: int | None = None) -> None:
        self._record = _Record()
        self._keep = keep
        self._own_writes = 0
        self._closed = False

    def connected(self) -> MemoryLedger:
        """A second connection to the same record, as another process would have one."""
        other = MemoryLedger(keep=self._keep)
        other._record = self._record
        return other

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
        if after is not None and self._record.last(run_id) != after:
            raise Overtaken(f"run {run_id} went on after entry {after}")
        return self._append(run_id, event, at, seconds)

    def _append(self, run_id: str, event: Event, at: float, seconds: float | None) -> Entry:
        self._check_open()
        if run_id in self._record.removed:
            raise removed_run(run_id)
        encode(event)  # what couldn't be kept on disk isn't kept here either
        record = self._record
        entry = Entry(record.last(run_id) + 1, at, event, seconds)
        record.entries[run_id].append(entry)
        run = updated(record.runs.get(run_id), event, at)
        if run is not None:
            record.runs[run_id] = run
        self._forget(run_id)
        self._wrote()
        return entry

    async def entries(self, run_id: str, after: int = 0) -> Sequence[Entry]:
        self._check_open()
        return [entry for entry in self._record.entries.get(run_id, ()) if entry.sequence > after]

    async def runs(self) -> Sequence[RunSummary]:
        self._check_open()
        return [run.summary() for run in reversed(self._record.runs.values())]

    async def evidence(self, run_id: str, evidence_id: str) -> Evidence | None:
        self._check_open()
        recorded = (entry.event for entry in reversed(self._record.entries.get(run_id, ())))
        found = (event.evidence for event in recorded if isinstance(event, EvidenceRecorded))
        return next((one for one in found if one.id == evidence_id), None)

    async def trouble(self, run_id: str) -> Trouble | None:
        self._check_open()
        return None

    async def keep(self, run_id: str, on: bool) -> None:
        self._check_open()
        if run_id not in self._record.runs:
            raise no_such_run(run_id)
        (self._record.kept.add if on else self._record.kept.discard)(run_id)

    async def kept(self) -> frozenset[str]:
        self._check_open()
        return frozenset(self._record.kept)

    async def entry_counts(self) -> Mapping[str, int]:
        self._check_open()
        return {run_id: self._record.last(run_id) for run_id in self._record.runs}

    async def trees(self, run_id: str) -> frozenset[str]:
        self._check_open()
        entries = self._record.entries.get(run_id, ())
        return frozenset(tree for entry in entries for tree in trees_in(encode(entry.event)))

    async def remove(self, run_id: str, updated_at: float) -> bool:
        self._check_open()
        record = self._record
        run = record.runs.get(run_id)
        if run is None or run_id in record.kept or run.updated_at != updated_at:
            return False
        for held in (record.runs, record.entries, record.live):
            held.pop(run_id, None)
        record.removed.add(run_id)
        self._wrote()
        return True

    async def compact(self) -> None:
        self._check_open()

    async def set_live(self, run_id: str, live: Live) -> None:
        self._check_open()
        self._record.live[run_id] = live
        self._wrote()

    async def live(self, run_id: str) -> Live:
        self._check_open()
        return self._record.live.get(run_id, Live())

    async def changes(self, poll: float = 0.1) -> AsyncIterator[None]:
        """Yields at once, then after every change by another connection. Ends when the ledger is closed."""
        seen = -1
        while not self._closed:
            others = self._record.writes - self._own_writes
            if others != seen:
                seen = others
                yield
            await asyncio.sleep(poll)

    async def close(self) -> None:
        self._closed = True

    def _forget(self, run_id: str) -> None:
        """Drops old entries; the first one stays, because it says what the run is."""
        entries = self._record.entries[run_id]
        while self._keep is not None and len(entries) > self._keep + 1:
            del entries[1]

    def _wrote(self) -> None:
        self._record.writes += 1
        self._own_writes += 1

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerUnavailable("the record of runs is closed")

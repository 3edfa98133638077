"""Snapshots of long runs: what is read from one and the rest is what is read from all; one that doesn't fit is none."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core import events as e
from donewhen.core.errors import RecordChanged
from donewhen.core.fold.dispatch import fold_read
from donewhen.core.state import RunState
from donewhen.engine.records import Records
from donewhen.store.snapshots import read_state, write_state
from donewhen.store.sqlite import SqliteLedger
from donewhen.store.tables import linked
from tests.benchmarks.bench_long import RUN, events, generate

from .samples import SAMPLES, started


def folded(run_id: str, entries: Sequence[e.Entry], state: RunState | None = None) -> RunState | None:
    for entry in entries:
        state = fold_read(run_id, state, entry)
    return state


def numbered(found: Sequence[e.Event]) -> list[e.Entry]:
    return [e.Entry(number, float(number), event, 0.5) for number, event in enumerate(found, 1)]


RUNS: dict[str, list[e.Entry]] = {
    "every event": numbered([started("a"), *(one for one in SAMPLES if not isinstance(one, e.RunStarted))]),
    "every event, backwards": numbered(
        [started("a"), *reversed([one for one in SAMPLES if not isinstance(one, e.RunStarted)])]
    ),
    "iterations": numbered(list(events(3, 90))),
}


@pytest.mark.parametrize("name", RUNS)
def test_from_any_entry_on_a_snapshot_and_the_rest_are_what_all_are(name: str) -> None:
    entries = RUNS[name]
    whole = folded("a", entries)
    for cut in range(1, len(entries) + 1):
        state = folded("a", entries[:cut])
        assert state is not None
        kept = read_state(write_state(state))
        assert kept == state
        assert folded("a", entries[cut:], kept) == whole


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was read, and so has a snapshot."""
    folder = tmp_path_factory.mktemp("kept")
    place = folder / "ledger.sqlite"
    generate(place, 10, 3_000)
    assert asyncio.run(read(place)) == (False, True)
    assert asyncio.run(read(place)) == (True, True)
    return folder


@pytest.fixture
def path(kept: Path, tmp_path: Path) -> Path:
    """A copy of that run's record."""
    shutil.copytree(kept, tmp_path / "copied")
    return tmp_path / "copied" / "ledger.sqlite"


async def read(path: Path) -> tuple[bool, bool]:
    """Whether there is a snapshot that counts, and whether the run is as it was written. What is read by it must be
    what the entries say."""
    ledger = await SqliteLedger.open(path)
    try:
        snapshot = await ledger.snapshot(RUN)
        state = await Records(path.parent, path.parent, ledger).state(RUN)
        assert state == folded(RUN, await ledger.entries(RUN))
        return snapshot is not None, (await ledger.trouble(RUN)) is None
    finally:
        await ledger.close()


def changed(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount > 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE snapshots SET body = replace(body, 'r10', 'r11')",
        "UPDATE snapshots SET sequence = sequence - 1",
        "UPDATE snapshots SET version = 'another'",
        "UPDATE snapshots SET digest = zeroblob(32)",
        "UPDATE snapshots SET run_id = 'other'",
        "DELETE FROM snapshots",
    ],
)
async def test_a_snapshot_that_does_not_fit_is_none(path: Path, statement: str) -> None:
    changed(path, statement)
    assert await read(path) == (False, True)


async def test_a_state_that_other_code_kept_is_set_aside_and_all_entries_are_read(path: Path) -> None:
    """Its fields may have been others: it is as it was written, and means something else now."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        (sequence, body) = connection.execute("SELECT sequence, body FROM snapshots").fetchone()
        (before,) = connection.execute("SELECT digest FROM entries WHERE sequence = ?", (sequence,)).fetchone()
        shape = json.loads(body)
        older = json.dumps(shape | {"results": shape.pop("checks")}).encode()
        digest = linked(before, (RUN, sequence, "older code"), older)
        connection.execute("UPDATE snapshots SET version = 'older code', body = ?, digest = ?", (older, digest))
    assert await read(path) == (False, True)
    assert await read(path) == (True, True), "what was read is kept in its place"


@pytest.mark.parametrize("sequence", ["(SELECT sequence FROM snapshots)", "(SELECT MAX(sequence) FROM entries)"])
async def test_entries_that_are_missing_at_the_end_are_missed(path: Path, sequence: str) -> None:
    ledger = await SqliteLedger.open(path)
    await ledger.append(RUN, e.RunResumed(), 9e9)
    await ledger.append(RUN, e.RunPaused("again"), 9e9)
    await ledger.close()
    changed(path, f"DELETE FROM entries WHERE sequence >= {sequence}")
    assert await read(path) == (False, False)


async def test_whoever_goes_on_from_a_snapshot_is_read_as_ever(path: Path) -> None:
    ledger = await SqliteLedger.open(path)
    await ledger.append(RUN, e.RunResumed(), 9e9)
    await ledger.close()
    assert await read(path) == (True, True)
    ledger = await SqliteLedger.open(path)
    await ledger.append(RUN, e.RunEnded("cancelled", "enough"), 9e9)
    await ledger.close()
    assert await read(path) == (True, True)


async def test_an_entry_that_was_changed_before_the_snapshot_keeps_the_run_from_ending_well(path: Path) -> None:
    """It is in no state that is read; but nothing is said to be complete on a record that was changed."""
    changed(path, "UPDATE entries SET body = body || ' ' WHERE sequence = 10")
    ledger = await SqliteLedger.open(path)
    with pytest.raises(RecordChanged):
        await ledger.append(RUN, e.RunEnded("complete", ""), 9e9)
    await ledger.close()


async def test_a_state_of_a_removed_run_is_not_kept(path: Path) -> None:
    ledger = await SqliteLedger.open(path)
    state = await ledger.snapshot(RUN)
    assert state is not None
    (summary,) = await ledger.runs()
    assert await ledger.remove(RUN, summary.updated_at)
    await ledger.keep_snapshot(state)
    await ledger.keep_snapshot(replace(state, run_id="another"))
    assert await ledger.snapshot(RUN) is None
    await ledger.close()

"""A ledger that can't be written is read from a copy; its folder stays as it was."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from donewhen.core import events as e
from donewhen.core.errors import LedgerTooNew, LedgerUnavailable
from donewhen.store.folders import kept_folder, ledger_file, may_be_written
from donewhen.store.sqlite import SqliteLedger

from .samples import started

OLD = Path(__file__).with_name("old")
REFUSAL = "nothing may be written here"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.sqlite"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


async def read(path: Path) -> list[e.Event]:
    ledger = await SqliteLedger.read(path, REFUSAL)
    found = [entry.event for entry in await ledger.entries("run-1")]
    await ledger.close()
    return found


async def test_a_closed_ledger_is_read_and_nothing_is_made_beside_it(path: Path) -> None:
    writer = await SqliteLedger.open(path)
    await writer.append("run-1", started(), 1.0)
    await writer.close()
    before = contents(path.parent)
    ledger = await SqliteLedger.read(path, REFUSAL)
    assert [run.run_id for run in await ledger.runs()] == ["run-1"]
    with pytest.raises(LedgerUnavailable, match=REFUSAL):
        await ledger.append("run-1", e.Warned("n", "late"), 2.0)
    assert len(await ledger.entries("run-1")) == 1
    await ledger.close()
    assert contents(path.parent) == before


async def test_what_only_the_journal_of_a_killed_process_holds_is_read(path: Path, tmp_path: Path) -> None:
    writer = await SqliteLedger.open(path)
    await writer.append("run-1", started(), 1.0)
    last = e.Warned("n", "the newest")
    await writer.append("run-1", last, 2.0)
    left = tmp_path / "left"
    left.mkdir()
    for name in ("ledger.sqlite", "ledger.sqlite-wal"):
        shutil.copyfile(path.with_name(name), left / name)
    await writer.close()
    before = contents(left)
    assert (await read(left / "ledger.sqlite"))[-1] == last
    assert contents(left) == before


@pytest.mark.parametrize("open_there", [True, False])
async def test_what_others_write_is_heard_of(path: Path, open_there: bool) -> None:
    writer = await SqliteLedger.open(path)
    await writer.append("run-1", started(), 1.0)
    if not open_there:
        await writer.close()
    ledger = await SqliteLedger.read(path, REFUSAL)
    changes = ledger.changes(poll=0.005)
    await anext(changes)
    if not open_there:
        writer = await SqliteLedger.open(path)
    await writer.append("run-1", e.Warned("n", "more"), 2.0)
    await writer.close()
    async with asyncio.timeout(30):
        while len(await ledger.entries("run-1")) < 2:
            await anext(changes)
    await ledger.close()


async def test_a_long_record_is_read_while_somebody_writes_to_it_all_the_time(path: Path) -> None:
    writer, done = await SqliteLedger.open(path), asyncio.Event()
    await writer.append("run-1", started(), 1.0)
    await writer.append("run-1", e.Warned("n", "x" * 20_000_000), 1.0, durable=False)

    async def write() -> None:
        while not done.is_set():
            await writer.append("run-1", e.Warned("n", "more"), 2.0, durable=False)

    writing = asyncio.ensure_future(write())
    try:
        assert len(await read(path)) >= 2
    finally:
        done.set()
        await writing
        await writer.close()


async def test_an_older_ledger_is_migrated_in_memory_alone(path: Path) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((OLD / "schema_1.sql").read_text())
    before = contents(path.parent)
    ledger = await SqliteLedger.read(path, REFUSAL)
    assert [run.run_id for run in await ledger.runs()] == ["old"]
    assert len(await ledger.entries("old")) == 2
    await ledger.close()
    assert contents(path.parent) == before


async def test_what_can_not_be_read_either_is_said(path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="can't be read"):
        await SqliteLedger.read(path, REFUSAL)
    writer = await SqliteLedger.open(path)
    await writer.close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = 999")
    with pytest.raises(LedgerTooNew):
        await SqliteLedger.read(path, REFUSAL)
    path.with_name("other.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(LedgerUnavailable, match="can't be read"):
        await SqliteLedger.read(path.with_name("other.sqlite"), REFUSAL)


def test_a_folder_that_is_not_there_may_not_be_written(tmp_path: Path) -> None:
    folder = kept_folder(tmp_path, tmp_path / "state")
    assert not may_be_written(folder)
    folder.mkdir(parents=True)
    ledger_file(folder).touch()
    assert may_be_written(folder)

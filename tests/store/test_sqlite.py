"""The ledger's file: migrated, too new, damaged, unwritable, and never in the event loop's way."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from donewhen.core import events as e
from donewhen.core.errors import LedgerError, LedgerTooNew, LedgerUnavailable, RecordChanged
from donewhen.core.evidence import ObservedCommand
from donewhen.ports import RunSummary
from donewhen.store import tables
from donewhen.store.codec import CODEC_VERSION
from donewhen.store.folders import TREES
from donewhen.store.opening import MIGRATIONS, SCHEMA_VERSION, ledger_error, migrate, open_ledger
from donewhen.store.sqlite import SqliteLedger

from .samples import evidence, started

OLD = Path(__file__).with_name("old")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.sqlite"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


async def filled(path: Path, count: int = 40) -> None:
    ledger = await SqliteLedger.open(path)
    await ledger.append("run-1", started(), 1.0)
    for n in range(count):
        await ledger.append("run-1", e.Warned("n", str(n) * 1000), 2.0, durable=False)
    await ledger.close()


def execute(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


# ------------------------------------------------------------------------------------------- migrations


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
async def test_an_older_ledger_is_migrated_with_all_it_holds(path: Path, version: int) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((OLD / f"schema_{version}.sql").read_text())
    ledger = await SqliteLedger.open(path)
    assert ledger.notices == ()
    assert [entry.sequence for entry in await ledger.entries("old")] == [1, 2]
    assert await ledger.evidence("old", "E1") == e.Evidence("E1", "r", "r", 0, ObservedCommand("ls", 0, 0.5, "a"))
    assert await ledger.runs() == [RunSummary("old", "pursue", "Title", None, "waiting", 1.0, 2.0)]
    assert (await ledger.append("old", e.RunResumed(), 4.0)).sequence == 3
    await ledger.close()
    reopened = await SqliteLedger.open(path)
    assert len(await reopened.entries("old")) == 3
    await reopened.close()


def test_there_is_an_old_ledger_of_every_version() -> None:
    assert {file.name for file in OLD.glob("*.sql")} == {f"schema_{n}.sql" for n in range(1, SCHEMA_VERSION)}


def test_a_migration_that_fails_leaves_the_old_ledger(tmp_path: Path) -> None:
    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (x)")
        raise RuntimeError("power cut")

    with contextlib.closing(sqlite3.connect(tmp_path / "l", isolation_level=None)) as connection:
        connection.executescript((OLD / "schema_1.sql").read_text())
        before = list(connection.iterdump())
        with pytest.raises(RuntimeError):
            migrate(connection, (*MIGRATIONS, broken))
        assert list(connection.iterdump()) == before


async def test_many_may_open_a_new_ledger_at_once(path: Path) -> None:
    ledgers = await asyncio.gather(*(SqliteLedger.open(path) for _ in range(8)))
    assert all(ledger.notices == () for ledger in ledgers)
    await asyncio.gather(*(ledger.append("a", e.RunResumed(), 0.0) for ledger in ledgers))
    assert len(await ledgers[0].entries("a")) == 8
    await asyncio.gather(*(ledger.close() for ledger in ledgers))


# --------------------------------------------------------------------------------------- newer, damaged


@pytest.mark.parametrize(("name", "value"), [("schema", SCHEMA_VERSION + 1), ("codec", CODEC_VERSION + 1)])
async def test_a_newer_ledger_is_refused_and_left_untouched(path: Path, name: str, value: int) -> None:
    await filled(path)
    execute(path, f"UPDATE meta SET value = {value} WHERE name = '{name}'")
    before = contents(path.parent)[path.name]
    with pytest.raises(LedgerTooNew, match="upgrade Done When"):
        await SqliteLedger.open(path)
    assert contents(path.parent)[path.name] == before
    assert not list(path.parent.glob("*damaged*"))


async def test_a_newer_ledger_after_a_crash_keeps_its_journal_too(path: Path, tmp_path: Path) -> None:
    await filled(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as newer:
        newer.execute("UPDATE meta SET value = 99 WHERE name = 'schema'")
        crashed = tmp_path / "crashed"
        crashed.mkdir()
        for file in (path, path.with_name(path.name + "-wal")):
            shutil.copy(file, crashed)
    before = contents(crashed)
    with pytest.raises(LedgerTooNew):
        await SqliteLedger.open(crashed / path.name)
    assert {name: data for name, data in contents(crashed).items() if name in before} == before


def garbage(path: Path) -> None:
    path.write_bytes(b"\x00\x01 not a ledger at all " * 500)


def wrong_magic(path: Path) -> None:
    path.write_bytes(b"SQLite format 9\0" + path.read_bytes()[16:])


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8192:40960] = b"\xa5" * (40960 - 8192)
    path.write_bytes(data)


def foreign(path: Path) -> None:
    path.unlink()
    execute(path, "CREATE TABLE bookmarks (url TEXT)")


def emptied(path: Path) -> None:
    (path.parent / TREES).mkdir()
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [garbage, wrong_magic, truncated, overwritten, foreign, emptied])
async def test_a_damaged_ledger_is_moved_aside_and_kept(path: Path, harm: object) -> None:
    await filled(path)
    assert callable(harm)
    harm(path)
    damaged = contents(path.parent)[path.name]
    ledger = await SqliteLedger.open(path)
    (aside,) = path.parent.glob("ledger.sqlite.damaged-*[0-9]")
    assert contents(path.parent)[aside.name] == damaged
    (notice,) = ledger.notices
    assert str(aside) in notice
    assert await ledger.runs() == []
    await ledger.append("run-1", started(), 1.0)
    await ledger.close()
    again = await SqliteLedger.open(path)
    assert (again.notices, len(await again.runs())) == ((), 1)
    await again.close()


@pytest.fixture
def empty(path: Path) -> Path:
    path.parent.mkdir()
    path.touch()
    return path


@pytest.fixture
def folder_in_its_place(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


async def test_an_empty_file_is_a_new_ledger(empty: Path) -> None:
    ledger = await SqliteLedger.open(empty)
    assert (ledger.notices, await ledger.runs()) == ((), [])
    await ledger.close()


async def test_from_a_changed_entry_on_none_counts(path: Path) -> None:
    await filled(path, 5)
    execute(path, 'UPDATE entries SET body = \'{"type":"Warned"}\' WHERE sequence = 3')
    ledger = await SqliteLedger.open(path)
    found = await ledger.entries("run-1")
    assert [entry.sequence for entry in found] == [1, 2, 3]
    reason = "entry 3 is not as it was written; the record was changed by something other than Done When"
    assert isinstance(end := found[-1].event, e.RunEnded)
    assert (end.status, end.broken, end.reason.startswith(reason)) == ("crashed", True, True)
    assert [entry.sequence for entry in await ledger.entries("run-1", 2)] == [3]
    assert await ledger.entries("run-1", 3) == []
    await ledger.close()


async def test_what_this_version_can_not_read_is_named(path: Path) -> None:
    """As an entry of an older ledger that was damaged before it was migrated."""
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((OLD / "schema_4.sql").read_text())
        connection.execute("UPDATE entries SET body = '{\"type\":\"Warned\"}' WHERE run_id = 'old' AND sequence = 2")
        connection.commit()
    ledger = await SqliteLedger.open(path)
    with pytest.raises(LedgerError, match=r"run old can't be read: entry 2: .*Warned lacks code, message"):
        await ledger.entries("old")
    await ledger.close()


async def test_an_entry_that_is_put_in_the_place_of_another_is_no_evidence(path: Path) -> None:
    ledger = await SqliteLedger.open(path)
    await ledger.append("run-1", started(), 1.0)
    seen = e.Evidence("E1", "r", "r", 0, ObservedCommand("ls", 1, 0.5, "a"))
    await ledger.append("run-1", e.EvidenceRecorded(seen), 2.0)
    assert await ledger.evidence("run-1", "E1") == seen
    execute(
        path, "UPDATE entries SET body = replace(body, '\"exit_code\":1', '\"exit_code\":0') WHERE evidence_id = 'E1'"
    )
    assert await ledger.evidence("run-1", "E1") is None
    await ledger.close()


async def test_who_writes_a_run_alone_goes_on_after_no_entry_of_another(path: Path) -> None:
    ledger, other = await SqliteLedger.open(path), await SqliteLedger.open(path)
    await ledger.append("run-1", started(), 1.0)
    await other.append("run-1", e.RunPaused("x"), 2.0)
    await ledger.append("run-1", e.RunResumed(), 3.0)
    await ledger.append("run-1", e.Warned("n", "mine"), 4.0, alone=True)
    await other.append("run-1", e.PersonDecided("waive", "r-1", "it is fine", False), 5.0)
    for late in (e.Warned("n", "late"), e.RunEnded("complete", "")):
        with pytest.raises(RecordChanged, match="entry 5 is not by the process that pursues it"):
            await ledger.append("run-1", late, 6.0, alone=True)
    with pytest.raises(RecordChanged):
        await ledger.append("run-1", e.Warned("n", "next"), 6.0, after=4, alone=True)
    ended = e.RunEnded("crashed", "it was changed", broken=True)
    await ledger.append("run-1", ended, 7.0, alone=True)
    assert [one.event for one in await other.entries("run-1", 5)] == [ended]
    assert [run.status for run in await other.runs()] == ["crashed"]
    await ledger.close()
    await other.close()


# ------------------------------------------------------------------------------------------- changes by others


async def test_a_commit_that_is_seen_only_after_its_news_is_found(path: Path) -> None:
    """A file tells of a write before the disk has it, and nothing tells of the commit."""
    heard: list[tuple[Path, Callable[[], None]]] = []

    def listen(folder: Path, wake: Callable[[], None]) -> tuple[Callable[[], bool], Callable[[], None]]:
        heard.append((folder, wake))
        return lambda: True, heard.clear

    ledger, other = await SqliteLedger.open(path, listen=listen), await SqliteLedger.open(path)
    changes = ledger.changes(poll=0.01)
    await anext(changes)
    pending = asyncio.ensure_future(anext(changes))
    (folder, wake), *_ = heard
    wake()
    assert await asyncio.wait({pending}, timeout=0.1) == (set(), {pending})
    await other.append("run-1", started(), 1.0)
    await asyncio.wait_for(pending, 60)
    assert folder == path.parent
    await changes.aclose()  # type: ignore[attr-defined]
    assert not heard
    await ledger.close()
    await other.close()


async def test_where_the_system_stops_to_tell_of_news_it_is_looked(path: Path) -> None:
    """It may refuse at any time, as where its watches are used up: a pause that had grown ends then."""
    hears, ended = [True], asyncio.Event()
    ledger = await SqliteLedger.open(path, listen=lambda folder, wake: (lambda: hears[0], ended.set))
    other = await SqliteLedger.open(path)
    changes = ledger.changes(poll=0.01)
    await anext(changes)
    pending = asyncio.ensure_future(anext(changes))
    assert await asyncio.wait({pending}, timeout=0.1) == (set(), {pending})
    hears[0] = False
    for number in range(20):
        await other.append(f"run-{number}", started(), 1.0)
        await asyncio.wait_for(pending, 60)
        pending = asyncio.ensure_future(anext(changes))
    pending.cancel()
    await asyncio.wait({pending})
    await changes.aclose()  # type: ignore[attr-defined]
    assert ended.is_set()
    await ledger.close()
    await other.close()


# ------------------------------------------------------------------------------------------- unwritable


async def test_a_file_in_place_of_the_folder_is_explained(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(LedgerUnavailable, match="--state-dir") as refused:
        await SqliteLedger.open(tmp_path / "state" / "ledger.sqlite")
    assert str(tmp_path / "state") in str(refused.value)
    assert (tmp_path / "state").read_text() == "in the way"


async def test_a_folder_in_place_of_the_file_is_explained(folder_in_its_place: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="--state-dir"):
        await SqliteLedger.open(folder_in_its_place)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("no file system may be mounted here; the limit on file sizes below covers it")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def append_forever(ledger: SqliteLedger, kept: list[e.Entry]) -> None:
    while True:
        kept.append(await ledger.append("a", e.RunPaused("y" * 4000), 0.0))


async def test_a_full_disk_loses_nothing_that_was_kept_and_can_be_cleared(small_disk: Path) -> None:
    ledger = await SqliteLedger.open(small_disk / "ledger.sqlite")
    kept = [await ledger.append("a", e.RunPaused("before"), 0.0)]
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    with pytest.raises(LedgerUnavailable, match="is full: make room"):
        await append_forever(ledger, kept)
    assert list(await ledger.entries("a")) == kept
    filler.unlink()
    kept.append(await ledger.append("a", e.RunPaused("after"), 0.0))
    assert list(await ledger.entries("a")) == kept
    await ledger.close()


LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from donewhen.core.errors import LedgerUnavailable
from donewhen.core.events import RunPaused
from donewhen.store.sqlite import SqliteLedger

async def main():
    ledger = await SqliteLedger.open(Path(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    kept = 0
    try:
        while True:
            await ledger.append("a", RunPaused("x" * 20_000), 0.0)
            kept += 1
    except LedgerUnavailable as error:
        print(kept, len(await ledger.entries("a")), error)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on file sizes")
def test_a_file_that_may_not_grow_is_explained(path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=60)
    kept, read, message = ran.stdout.split(" ", 2)
    assert int(kept) == int(read) > 0
    assert "--state-dir" in message


# ------------------------------------------------------------------------------------- threads and sync


async def test_the_event_loop_goes_on_while_another_process_holds_the_file(path: Path) -> None:
    ledger = await SqliteLedger.open(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        append = asyncio.ensure_future(ledger.append("a", e.RunResumed(), 0.0))
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert not append.done()
        other.execute("ROLLBACK")
    assert (await asyncio.wait_for(append, 60)).sequence == 1
    await ledger.close()


async def test_only_what_may_be_lost_is_written_without_waiting_for_the_disk(path: Path) -> None:
    levels: list[int] = []

    def record(event_type: str) -> None:
        assert ledger._connection is not None
        levels.append(ledger._connection.execute("PRAGMA synchronous").fetchone()[0])

    ledger = await SqliteLedger.open(path, fault=record)
    for durable in (True, False, False, True):
        await ledger.append("a", e.RunResumed(), 0.0, durable=durable)
    await ledger.close()
    full, normal = 2, 1
    assert levels == [full, normal, normal, full]


async def test_the_fault_point_comes_after_the_entry_is_kept(path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def look(event_type: str) -> None:
        with contextlib.closing(sqlite3.connect(path)) as other:
            seen.append((event_type, other.execute("SELECT COUNT(*) FROM entries").fetchone()[0]))

    ledger = await SqliteLedger.open(path, fault=look)
    await ledger.append("a", started("a"), 0.0)
    await ledger.append("a", e.EvidenceRecorded(evidence(ObservedCommand("ls", 0, 0.1))), 0.0)
    await ledger.close()
    assert seen == [("RunStarted", 1), ("EvidenceRecorded", 2)]


def test_the_ledger_is_for_this_user_alone(path: Path) -> None:
    asyncio.run(filled(path, 1))
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_damage_met_while_running_is_looked_for_at_the_next_start(path: Path) -> None:
    asyncio.run(filled(path, 200))
    overwritten(path)
    # A file that is too large to be read through at every start.
    connection, notices = open_ledger(path, checked_bytes=0)
    with contextlib.closing(connection), pytest.raises(sqlite3.DatabaseError) as met:
        tables.entries(connection, "run-1", 0)
    assert notices == ()
    assert "the next start moves it aside" in str(ledger_error(met.value, path))
    for expected in (1, 0):
        connection, notices = open_ledger(path, checked_bytes=0)
        connection.close()
        assert len(notices) == expected

"""A run on record that can't be read is listed as that, and stops nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from donewhen.core.errors import LedgerError, LedgerTooNew, NotResumable, RecordChanged, UnreadableRun, UsageError
from donewhen.core.events import RunInterrupted, Warned
from donewhen.engine.runs import Supervisor
from donewhen.ports import Turn, TurnContext
from donewhen.store.codec import CODEC_VERSION
from donewhen.store.sqlite import SqliteLedger
from donewhen.store.tables import link_entries
from tests.engine.world import GOAL, World, ended, idle, pursue, writes

CHANGED = {
    "no JSON": ("UPDATE entries SET body = '{' WHERE {third}", "entry 3 is not as it was written"),
    "not UTF-8": ("UPDATE entries SET body = CAST(x'7bff' AS TEXT) WHERE {third}", "entry 3 is not as it was written"),
    "no text": ("UPDATE entries SET body = x'00' WHERE {third}", "entry 3 is not as it was written"),
    "no version": ("UPDATE entries SET version = 'x' WHERE {third}", "entry 3 is not as it was written"),
    "no time": ("UPDATE entries SET at = 'noon' WHERE {third}", "entry 3 is not as it was written"),
    "another time": ("UPDATE entries SET at = at + 1 WHERE {third}", "entry 3 is not as it was written"),
    "other seconds": ("UPDATE entries SET seconds = 9e9 WHERE {third}", "entry 3 is not as it was written"),
    "a field is gone": ('UPDATE entries SET body = \'{"type":"Warned"}\' WHERE {third}', "entry 3 is not as it was"),
    "another version": (
        f"UPDATE entries SET version = {CODEC_VERSION + 1} WHERE {{third}}",
        "entry 3 is not as it was",
    ),
    "no digest": ("UPDATE entries SET digest = NULL WHERE {third}", "entry 3 is not as it was written"),
    "no digests": ("UPDATE entries SET digest = NULL WHERE run_id = '{run}' AND sequence > 2", "entry 3 is not as it"),
    "what reads as well": (
        "UPDATE entries SET body = replace(body, 'stalled', 'complete') WHERE type = 'RunEnded' AND run_id = '{run}'",
        "is not as it was written",
    ),
    "an entry is gone": ("DELETE FROM entries WHERE {third}", "entry 3 is missing"),
    "a number is another": ("UPDATE entries SET sequence = 999 WHERE {third}", "entry 3 is missing"),
    "the end is gone": ("DELETE FROM entries WHERE run_id = '{run}' AND type = 'RunEnded'", "is missing"),
    "all but the start is gone": ("DELETE FROM entries WHERE run_id = '{run}' AND sequence > 1", "entry 2 is missing"),
    "an entry more": (
        "INSERT INTO entries (run_id, sequence, at, version, type, body, seconds, digest) "
        "SELECT run_id, MAX(sequence) + 1, at, version, 'RunEnded', "
        '\'{"type":"RunEnded","status":"complete","reason":""}\', 0.0, digest '
        "FROM entries WHERE run_id = '{run}'",
        "is not as it was written",
    ),
    "an entry twice": (
        "INSERT INTO entries (run_id, sequence, at, version, type, body, seconds, digest) "
        "SELECT run_id, (SELECT MAX(sequence) + 1 FROM entries WHERE run_id = '{run}'), at, version, type, body, "
        "seconds, digest FROM entries WHERE {third}",
        "is not as it was written",
    ),
}
"""What something else may do to the entries of a run, and what is said of it."""
TELLING = ("no JSON", "another time", "no digest", "what reads as well", "the end is gone", "an entry twice")
"""The slice of the default suite: a body, another column, the digest, an end that is made up, one less and one more."""
UNREADABLE = {
    "another start": (
        "UPDATE entries SET body = '{\"type\":\"RunResumed\"}' WHERE run_id = '{run}' AND sequence = 1",
        "entry 1 is not as it was written",
    ),
    "no start": ("DELETE FROM entries WHERE run_id = '{run}' AND sequence = 1", "entry 1 is missing"),
    "nothing left": ("DELETE FROM entries WHERE run_id = '{run}'", "it has no entries"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.sqlite"


@pytest_asyncio.fixture
async def ledger(path: Path) -> AsyncIterator[SqliteLedger]:
    opened = await SqliteLedger.open(path)
    yield opened
    await opened.close()


def damage(path: Path, statement: str, run_id: str) -> None:
    statement = statement.replace("{third}", f"run_id = '{run_id}' AND sequence = 3").replace("{run}", run_id)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


def as_of_schema_4(path: Path) -> None:
    """The ledger as the last schema before the chain had it."""
    for statement in (
        "ALTER TABLE entries RENAME COLUMN digest TO checksum",
        "UPDATE entries SET checksum = NULL",
        "ALTER TABLE runs DROP COLUMN last_digest",
        "ALTER TABLE live DROP COLUMN silent",
        "CREATE TABLE requests (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, operation TEXT NOT NULL, "
        "arguments TEXT NOT NULL, taken INTEGER NOT NULL DEFAULT 0)",
        "CREATE TABLE replies (request_id INTEGER PRIMARY KEY, error TEXT, message TEXT, result TEXT NOT NULL)",
        "UPDATE meta SET value = 4 WHERE name = 'schema'",
    ):
        damage(path, statement, "")


async def stopped(world: World, ledger: SqliteLedger) -> str:
    """A run that was pursued without success and can be resumed."""
    world.worker.plays = [idle]
    supervisor = world.supervisor(ledger=ledger)
    view = await supervisor.start(GOAL)
    assert (await ended(supervisor, view.state.run_id)).state.status == "stalled"
    return view.state.run_id


async def works(supervisor: Supervisor, world: World, bad: str, status: str, readable: str) -> None:
    """Everything but that one run."""
    listed = {one.run_id: one for one in await supervisor.summaries()}
    assert (listed[bad].status, listed[readable].status) == (status, "stalled")
    assert listed[readable].unreadable is None
    newest = bad if status == "crashed" else readable
    assert [view.state.run_id for view in await supervisor.views(GOAL)] == [newest]
    assert (await supervisor.check(GOAL)).state.lifecycle.ended
    assert await supervisor.recover() == []
    resumed = await supervisor.resume()
    assert resumed.state.run_id == readable
    await ended(supervisor, readable)
    world.worker.plays = [writes("a.py", "good")]
    started = await supervisor.start(GOAL)
    assert (await ended(supervisor, started.state.run_id)).state.status == "complete"


@pytest.mark.parametrize("what", UNREADABLE)
async def test_one_unreadable_run_is_listed_as_that_and_stops_nothing(
    world: World, ledger: SqliteLedger, path: Path, what: str
) -> None:
    statement, reason = UNREADABLE[what]
    readable = await stopped(world, ledger)
    unreadable = await stopped(world, ledger)
    damage(path, statement, unreadable)
    supervisor = world.supervisor(ledger=await SqliteLedger.open(path))
    await works(supervisor, world, unreadable, "unreadable", readable)
    (why,) = [one.unreadable for one in await supervisor.summaries() if one.unreadable is not None]
    assert reason in why
    assert "start a new run" in why
    for ask in (supervisor.view, supervisor.resume, supervisor.report, supervisor.stop):
        with pytest.raises(UnreadableRun, match=f"run {unreadable} can't be read"):
            await ask(unreadable)


@pytest.mark.parametrize(
    "what", [pytest.param(one, marks=[] if one in TELLING else [pytest.mark.slow]) for one in CHANGED]
)
async def test_a_run_that_something_else_changed_ends_crashed_there(
    world: World, ledger: SqliteLedger, path: Path, what: str
) -> None:
    statement, reason = CHANGED[what]
    readable = await stopped(world, ledger)
    changed = await stopped(world, ledger)
    damage(path, statement, changed)
    supervisor = world.supervisor(ledger=await SqliteLedger.open(path))
    await works(supervisor, world, changed, "crashed", readable)
    for view in (await supervisor.view(changed), await supervisor.report(changed)):
        assert view.state.status == "crashed"
        assert reason in view.state.lifecycle.reason
        assert "start a new run" in view.state.lifecycle.reason
    with pytest.raises(NotResumable, match=reason):
        await supervisor.resume(changed)
    with pytest.raises(UsageError, match=reason):
        await supervisor.waive(changed, "R1", "it is fine")
    with pytest.raises(UsageError, match="nothing to stop"):
        await supervisor.stop(changed)


async def test_a_run_whose_supervisor_died_can_be_unreadable_too(
    world: World, ledger: SqliteLedger, path: Path
) -> None:
    """Whoever reads anything looks for dead runs first."""
    readable, unreadable = await stopped(world, ledger), await stopped(world, ledger)
    damage(path, UNREADABLE["another start"][0], unreadable)
    damage(path, "UPDATE runs SET standing = 'running' WHERE run_id = '{run}'", unreadable)
    supervisor = world.supervisor(ledger=await SqliteLedger.open(path))
    await works(supervisor, world, unreadable, "unreadable", readable)


@pytest.mark.parametrize(
    "change",
    [
        "standing = 'won'",
        "open_interrupts = '['",
        "started_at = 'x'",
        "mode = 3",
        "title = CAST(x'ff' AS TEXT)",
    ],
)
async def test_a_line_of_the_list_that_can_not_be_read_is_made_again_from_the_run(
    world: World, ledger: SqliteLedger, path: Path, change: str
) -> None:
    run_id = await stopped(world, ledger)
    (before,) = await ledger.runs()
    damage(path, f"UPDATE runs SET {change} WHERE run_id = '{{run}}'", run_id)
    (listed,) = await world.supervisor(ledger=ledger).summaries()
    assert (listed.status, listed.started_at) == ("stalled", before.started_at)


async def test_a_run_of_an_earlier_version_is_read_and_goes_on(world: World, ledger: SqliteLedger, path: Path) -> None:
    run_id = await stopped(world, ledger)
    accepted = '{"type":"StartAccepted","by":"auto","summary":"worker agent"}'
    for statement in (
        "UPDATE entries SET version = 1, "
        "body = json_remove(body, '$.accepted', '$.past', '$.options.plugins') WHERE run_id = '{run}'",
        "UPDATE entries SET sequence = sequence + 1001 WHERE run_id = '{run}' AND sequence > 1",
        "UPDATE entries SET sequence = sequence - 1000 WHERE run_id = '{run}' AND sequence > 1",
        "INSERT INTO entries (run_id, sequence, at, version, type, body) "
        f"SELECT run_id, 2, at, 1, 'StartAccepted', '{accepted}' FROM entries WHERE {{third}}",
    ):
        damage(path, statement, run_id)
    as_of_schema_4(path)
    supervisor = world.supervisor(ledger=await SqliteLedger.open(path))
    assert [one.unreadable for one in await supervisor.summaries()] == [None]
    world.worker.plays = [writes("a.py", "good")]
    assert (await ended(supervisor, (await supervisor.resume()).state.run_id)).state.status == "complete"


async def test_a_whole_record_of_a_newer_version_says_so(world: World, ledger: SqliteLedger, path: Path) -> None:
    await stopped(world, ledger)
    damage(path, f"UPDATE meta SET value = {CODEC_VERSION + 1} WHERE name = 'codec'", "")
    with pytest.raises(LedgerTooNew, match="written by a newer version of Done When"):
        await SqliteLedger.open(path)


async def test_a_run_in_memory_is_always_readable(world: World) -> None:
    await pursue(world)
    assert [one.unreadable for one in await world.supervisor().summaries()] == [None]


# ------------------------------------------------------------------------------ while the run is pursued


WHILE_IT_WORKS = {
    "an earlier entry": "UPDATE entries SET at = at + 1 WHERE run_id = '{run}' AND sequence = 2",
    "the last entry": "UPDATE entries SET at = at + 1 WHERE run_id = '{run}' AND type = 'TurnStarted'",
    "the last entry is gone": "DELETE FROM entries WHERE run_id = '{run}' AND type = 'TurnStarted'",
    "an entry more": (
        "INSERT INTO entries (run_id, sequence, at, version, type, body, seconds, digest) SELECT run_id, "
        f"MAX(sequence) + 1, at, {CODEC_VERSION}, 'PersonDecided', "
        '\'{"type":"PersonDecided","decision":"waive","subject":"r-1","reason":"","undo":false}\', 0.0, digest '
        "FROM entries WHERE run_id = '{run}'"
    ),
}


@pytest.mark.parametrize("with_digests", [False, True])
@pytest.mark.parametrize("what", WHILE_IT_WORKS)
async def test_a_worker_that_changes_the_record_ends_its_run(
    world: World, ledger: SqliteLedger, path: Path, what: str, with_digests: bool
) -> None:
    """The work itself is good: without the change the run would be complete. Who can write the record can write its
    digests too: then nothing shows on the record itself, but the process that pursues the run knows where it ended."""
    owned: list[str] = []

    def play(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("a.py", b"good")
        damage(path, WHILE_IT_WORKS[what], owned[0])
        if with_digests:
            with contextlib.closing(sqlite3.connect(path)) as connection, connection:
                link_entries(connection)

    world.worker.plays = [play]
    world.worker.gate = asyncio.Event()
    supervisor = world.supervisor(ledger=ledger)
    owned.append((await supervisor.start(GOAL)).state.run_id)
    world.worker.gate.set()
    view = await ended(supervisor, owned[0])
    assert (view.state.status, view.state.lifecycle.broken) == ("crashed", True)
    assert "the record was changed by something other than Done When" in view.state.lifecycle.reason
    other = world.supervisor(ledger=await SqliteLedger.open(path))
    assert (await other.view(owned[0])).state.status == "crashed"
    (listed,) = await other.summaries()
    assert (listed.status, listed.unreadable) == ("crashed", None)


@pytest.mark.parametrize("by", ["its own process", "another process"])
async def test_an_act_on_a_changed_record_ends_the_run_while_its_worker_is_at_work(
    world: World, ledger: SqliteLedger, path: Path, by: str
) -> None:
    world.worker.gate = asyncio.Event()
    supervisor = world.supervisor(ledger=ledger)
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    damage(path, WHILE_IT_WORKS["an entry more"], run_id)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        link_entries(connection)
    actor = supervisor if by == "its own process" else world.supervisor(ledger=await SqliteLedger.open(path))
    with pytest.raises(LedgerError, match="is not by the process that pursues it"):
        await actor.pause(run_id, "wait")
    view = await ended(supervisor, run_id)
    assert (view.state.status, view.state.lifecycle.broken) == ("crashed", True)
    await supervisor.close("the test ended")
    assert (await world.supervisor(ledger=await SqliteLedger.open(path)).view(run_id)).state.status == "crashed"


async def test_a_run_that_is_wrongly_taken_for_dead_is_interrupted_and_goes_on(
    world: World, ledger: SqliteLedger, path: Path
) -> None:
    """By somebody who can't see its process: out of descriptors, or in a container that shares the state folder."""
    world.worker.gate = asyncio.Event()
    world.worker.plays = [idle, writes("a.py", "good")]
    supervisor = world.supervisor(ledger=ledger)
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    other = await SqliteLedger.open(path)
    await other.append(run_id, RunInterrupted("its process is gone", 2.0), 2.0)
    world.worker.gate.set()
    view = await ended(supervisor, run_id)
    assert (view.state.status, view.state.lifecycle.broken) == ("interrupted", False)
    assert (await ended(supervisor, (await supervisor.resume(run_id)).state.run_id)).state.status == "complete"


async def test_what_is_put_on_a_changed_run_is_refused(world: World, ledger: SqliteLedger, path: Path) -> None:
    run_id = await stopped(world, ledger)
    damage(path, CHANGED["an entry is gone"][0], run_id)
    with pytest.raises(RecordChanged, match="entry 3 is missing"):
        await (await SqliteLedger.open(path)).append(run_id, Warned("n", "late"), 2.0)

"""A run on record that can't be read is listed as that, and stops nothing else."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from donewhen.core.errors import LedgerTooNew, UnreadableRun
from donewhen.engine.runs import Supervisor
from donewhen.store.codec import CODEC_VERSION
from donewhen.store.sqlite import SqliteLedger
from tests.engine.world import GOAL, World, ended, idle, pursue, writes

DAMAGE = {
    "no JSON": ("UPDATE entries SET body = '{' WHERE {third}", "not the JSON"),
    "not UTF-8": ("UPDATE entries SET body = CAST(x'7bff' AS TEXT) WHERE {third}", "not the JSON"),
    "no text": ("UPDATE entries SET body = x'00' WHERE {third}", "not the JSON"),
    "no version": ("UPDATE entries SET version = 'x' WHERE {third}", "its version is 'x'"),
    "no time": ("UPDATE entries SET at = 'noon' WHERE {third}", "its time is 'noon'"),
    "endless time": ("UPDATE entries SET at = 9e999 WHERE {third}", "its time is inf"),
    "a field is gone": ('UPDATE entries SET body = \'{"type":"Warned"}\' WHERE {third}', "Warned lacks code"),
    "an unknown type": ('UPDATE entries SET body = \'{"type":"Teleported"}\' WHERE {third}', "'Teleported' is none of"),
    "a newer version": (f"UPDATE entries SET version = {CODEC_VERSION + 1} WHERE {{third}}", "upgrade it"),
    "an entry is gone": ("DELETE FROM entries WHERE {third}", "entry 3 is missing"),
    "a number is another": ("UPDATE entries SET sequence = 999 WHERE {third}", "entry 3 is missing"),
    "no start": (
        "UPDATE entries SET body = '{\"type\":\"RunResumed\"}' WHERE run_id = '{run}' AND sequence = 1",
        "entry 1: a run begins with RunStarted, not RunResumed",
    ),
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


async def stopped(world: World, ledger: SqliteLedger) -> str:
    """A run that was pursued without success and can be resumed."""
    world.worker.plays = [idle]
    supervisor = world.supervisor(ledger=ledger)
    view = await supervisor.start(GOAL)
    assert (await ended(supervisor, view.state.run_id)).state.status == "stalled"
    return view.state.run_id


async def works(supervisor: Supervisor, world: World, unreadable: str, readable: str) -> None:
    """Everything but that one run."""
    listed = {one.run_id: one for one in await supervisor.summaries()}
    assert (listed[unreadable].status, listed[readable].status) == ("unreadable", "stalled")
    assert listed[readable].unreadable is None
    assert [view.state.run_id for view in await supervisor.views(GOAL)] == [readable]
    assert (await supervisor.check(GOAL)).state.ended
    assert await supervisor.recover() == []
    resumed = await supervisor.resume()
    assert resumed.state.run_id == readable
    await ended(supervisor, readable)
    world.worker.plays = [writes("a.py", "good")]
    started = await supervisor.start(GOAL)
    assert (await ended(supervisor, started.state.run_id)).state.status == "complete"


@pytest.mark.parametrize("what", DAMAGE)
async def test_one_unreadable_run_is_listed_as_that_and_stops_nothing(
    world: World, ledger: SqliteLedger, path: Path, what: str
) -> None:
    statement, reason = DAMAGE[what]
    readable = await stopped(world, ledger)
    unreadable = await stopped(world, ledger)
    damage(path, statement, unreadable)
    supervisor = world.supervisor(ledger=await SqliteLedger.open(path))
    await works(supervisor, world, unreadable, readable)
    (why,) = [one.unreadable for one in await supervisor.summaries() if one.unreadable is not None]
    assert reason in why
    assert "upgrade it" in why if what == "a newer version" else "start a new run" in why
    for ask in (supervisor.view, supervisor.resume, supervisor.report, supervisor.stop):
        with pytest.raises(UnreadableRun, match=f"run {unreadable} can't be read"):
            await ask(unreadable)


async def test_a_run_whose_supervisor_died_can_be_unreadable_too(
    world: World, ledger: SqliteLedger, path: Path
) -> None:
    """Whoever reads anything looks for dead runs first."""
    readable, unreadable = await stopped(world, ledger), await stopped(world, ledger)
    damage(path, DAMAGE["no JSON"][0], unreadable)
    damage(path, "UPDATE runs SET standing = 'running' WHERE run_id = '{run}'", unreadable)
    await works(world.supervisor(ledger=await SqliteLedger.open(path)), world, unreadable, readable)


@pytest.mark.parametrize(
    "change",
    ["standing = 'won'", "open_interrupts = '['", "started_at = 'x'", "mode = 3", "title = CAST(x'ff' AS TEXT)"],
)
async def test_a_line_of_the_list_that_was_changed_is_made_again_from_the_run(
    world: World, ledger: SqliteLedger, path: Path, change: str
) -> None:
    run_id = await stopped(world, ledger)
    (before,) = await ledger.runs()
    damage(path, f"UPDATE runs SET {change} WHERE run_id = '{{run}}'", run_id)
    (listed,) = await world.supervisor(ledger=ledger).summaries()
    assert (listed.status, listed.started_at) == ("stalled", before.started_at)


async def test_a_request_that_was_changed_is_refused_and_the_next_one_taken(ledger: SqliteLedger, path: Path) -> None:
    for operation in ("waive", "stop"):
        await ledger.request("a", operation, {"reason": "x"})
    damage(path, "UPDATE requests SET arguments = '{' WHERE operation = 'waive'", "a")
    taken = await ledger.take_requests(["a"])
    assert [(one.operation, one.arguments) for one in taken] == [("waive", {}), ("stop", {"reason": "x"})]


async def test_what_is_as_it_was_written_is_not_decoded_to_be_listed(
    world: World, ledger: SqliteLedger, path: Path
) -> None:
    """What a field says may be changed so that it still reads: then the run says that."""
    run_id = await stopped(world, ledger)
    statement = "UPDATE entries SET body = replace(body, 'stalled', 'capped') WHERE run_id = '{run}'"
    damage(path, statement, run_id)
    supervisor = world.supervisor(ledger=await SqliteLedger.open(path))
    assert (await supervisor.summaries())[0].unreadable is None
    assert (await supervisor.view(run_id)).state.status == "capped"


async def test_a_run_of_an_earlier_version_is_read_and_goes_on(world: World, ledger: SqliteLedger, path: Path) -> None:
    run_id = await stopped(world, ledger)
    accepted = '{"type":"StartAccepted","by":"auto","summary":"worker agent"}'
    for statement in (
        "UPDATE entries SET version = 1, checksum = NULL, "
        "body = json_remove(body, '$.accepted', '$.past', '$.options.plugins') WHERE run_id = '{run}'",
        "UPDATE entries SET sequence = sequence + 1001 WHERE run_id = '{run}' AND sequence > 1",
        "UPDATE entries SET sequence = sequence - 1000 WHERE run_id = '{run}' AND sequence > 1",
        "INSERT INTO entries (run_id, sequence, at, version, type, body) "
        f"SELECT run_id, 2, at, 1, 'StartAccepted', '{accepted}' FROM entries WHERE {{third}}",
    ):
        damage(path, statement, run_id)
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

"""The behaviour of a ledger, over every implementation of the port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from donewhen.core import events as e
from donewhen.core.errors import LedgerUnavailable, Overtaken, UnknownRun
from donewhen.core.evidence import ObservedCommand
from donewhen.core.work import Answer, Interrupt, Usage
from donewhen.ports import Ledger, Live
from donewhen.store.memory import MemoryLedger
from donewhen.store.sqlite import SqliteLedger
from donewhen.workspace.news import folder_news

from .samples import GOAL, SAMPLES, evidence, started

Connect = Callable[[], Awaitable[Ledger]]


@pytest.fixture(params=["memory", "sqlite", "sqlite with news"])
async def connect(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Connect]:
    """Opens one more connection to one and the same ledger."""
    opened: list[Ledger] = []
    first = MemoryLedger()

    async def open_one() -> Ledger:
        listen = folder_news if request.param == "sqlite with news" else None
        ledger = (
            first.connected()
            if request.param == "memory"
            else await SqliteLedger.open(tmp_path / "state" / "ledger.sqlite", listen=listen)
        )
        opened.append(ledger)
        return ledger

    yield open_one
    for ledger in opened:
        await ledger.close()


@pytest.fixture
async def ledger(connect: Connect) -> Ledger:
    return await connect()


async def test_appends_are_numbered_from_one_in_each_run(ledger: Ledger) -> None:
    first = await ledger.append("a", started("a"), 1.5)
    await ledger.append("b", started("b"), 2.0)
    second = await ledger.append("a", e.RunPaused("x"), 3.0, durable=False)
    assert (first.sequence, second.sequence) == (1, 2)
    assert await ledger.entries("a") == [first, second]
    assert await ledger.entries("a", 1) == [second]
    assert await ledger.entries("a", 2) == []
    assert await ledger.entries("nobody") == []


async def test_what_was_to_follow_an_entry_is_not_appended_after_another_one(ledger: Ledger, connect: Connect) -> None:
    other = await connect()
    first = await ledger.append("a", started("a"), 1.0)
    second = await other.append("a", e.RunPaused("x"), 2.0, after=first.sequence)
    for stale in (0, first.sequence, second.sequence + 1):
        with pytest.raises(Overtaken):
            await ledger.append("a", e.RunPaused("y"), 3.0, after=stale)
    assert await ledger.entries("a") == [first, second]
    assert (await ledger.append("b", started("b"), 3.0, after=0)).sequence == 1


async def test_every_event_comes_back_as_it_was(ledger: Ledger, connect: Connect) -> None:
    for at, event in enumerate(SAMPLES):
        await ledger.append("run-1", event, float(at))
    assert tuple(entry.event for entry in await (await connect()).entries("run-1")) == SAMPLES


async def test_concurrent_appends_keep_their_order(ledger: Ledger) -> None:
    await asyncio.gather(*(ledger.append("a", e.Warned("n", str(n)), float(n)) for n in range(50)))
    kept = await ledger.entries("a")
    assert [entry.sequence for entry in kept] == list(range(1, 51))
    assert [entry.at for entry in kept] == [float(n) for n in range(50)]


async def test_two_connections_never_share_a_sequence(ledger: Ledger, connect: Connect) -> None:
    other = await connect()
    await asyncio.gather(*(who.append("a", e.RunResumed(), 0.0) for _ in range(10) for who in (ledger, other)))
    assert [entry.sequence for entry in await ledger.entries("a")] == list(range(1, 21))


async def test_what_could_not_be_read_back_is_refused_and_leaves_nothing(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match=r"usd: a finite number"):
        await ledger.append("a", e.Abandoned("judge", "x", Usage(usd=float("nan"))), 0.0)
    with pytest.raises(ValueError, match=r"RunPaused\.reason: text is needed"):
        await ledger.append("a", e.RunPaused(None), 0.0)  # pyright: ignore[reportArgumentType]
    assert await ledger.entries("a") == []
    assert (await ledger.append("a", e.RunPaused("x"), 0.0)).sequence == 1


async def test_evidence_is_found_by_its_run_and_id(ledger: Ledger, connect: Connect) -> None:
    mine, other = evidence(ObservedCommand("ls", 0, 0.1), "E1"), evidence(ObservedCommand("pwd", 0, 0.1), "E1")
    await ledger.append("a", e.EvidenceRecorded(mine), 1.0)
    await ledger.append("b", e.EvidenceRecorded(other), 1.0)
    reader = await connect()
    assert await reader.evidence("a", "E1") == mine
    assert await reader.evidence("b", "E1") == other
    assert await reader.evidence("a", "E2") is None


# ------------------------------------------------------------------------------------------- summaries

OPENED = e.InterruptOpened(Interrupt("I1", "question", "?"))
ANSWERED = e.InterruptAnswered("I1", Answer("text", "yes"))


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([], "running"),
        ([OPENED], "waiting"),
        ([OPENED, ANSWERED], "running"),
        ([OPENED, e.InterruptOpened(Interrupt("I2", "question", "?")), ANSWERED], "waiting"),
        ([OPENED, e.InterruptAnswered("I1", None, reason="gone")], "running"),
        ([OPENED, e.RunPaused("x")], "paused"),
        ([OPENED, e.RunInterrupted("crash", 1.0)], "interrupted"),
        ([OPENED, e.RunInterrupted("crash", 1.0), e.RunResumed()], "waiting"),
        ([e.RunPaused("x"), e.RunResumed()], "running"),
        ([e.Requested("pause", "x")], "running"),
        ([OPENED, e.RunEnded("cancelled", "")], "cancelled"),
        ([e.RunEnded("capped", "")], "capped"),
        ([e.RunEnded("capped", ""), e.RunResumed()], "running"),
        ([e.RunEnded(None, "")], None),
    ],
)
async def test_the_status_of_a_run_follows_its_events(
    ledger: Ledger, events: list[e.Event], status: str | None
) -> None:
    await ledger.append("a", started("a"), 1.0)
    for event in events:
        await ledger.append("a", event, 2.0)
    (summary,) = await ledger.runs()
    assert summary.status == status


async def test_runs_are_listed_newest_first_with_what_they_are(ledger: Ledger, connect: Connect) -> None:
    assert await ledger.runs() == []
    for run_id, at in (("old", 1.0), ("new", 5.0), ("same", 5.0)):
        await ledger.append(run_id, started(run_id, "audit"), at)
    await ledger.append("old", e.RunEnded("complete", ""), 9.0)
    listed = await (await connect()).runs()
    assert [run.run_id for run in listed] == ["same", "new", "old"]
    old = listed[-1]
    assert (old.mode, old.title, old.goal_path, old.started_at, old.updated_at) == (
        "audit", GOAL.title, "GOAL.md", 1.0, 9.0
    )  # fmt: skip


# ------------------------------------------------------------------------------ live, changes


async def test_live_is_the_last_that_was_set(ledger: Ledger, connect: Connect) -> None:
    other = await connect()
    assert await other.live("a") == Live()
    await ledger.set_live("a", Live("reading", 1.0))
    await ledger.set_live("a", Live("thinking, 3 s", 2.5, 1.5, 3))
    assert await other.live("a") == Live("thinking, 3 s", 2.5, 1.5, 3)


async def test_changes_tell_of_other_connections_only(ledger: Ledger, connect: Connect) -> None:
    other = await connect()
    changes = ledger.changes(poll=0.01)
    await asyncio.wait_for(anext(changes), 60)  # what was written before
    await ledger.append("a", e.RunResumed(), 0.0)
    pending = asyncio.ensure_future(anext(changes))
    assert await asyncio.wait({pending}, timeout=0.2) == (set(), {pending})
    await other.append("a", e.RunResumed(), 0.0)
    await asyncio.wait_for(pending, 60)
    assert len(await ledger.entries("a")) == 2


async def test_changes_end_when_the_ledger_is_closed(ledger: Ledger) -> None:
    changes = ledger.changes(poll=0.01)
    await anext(changes)
    pending = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    await ledger.close()
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(pending, 60)


async def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    await ledger.close()
    await ledger.close()
    with pytest.raises(LedgerUnavailable, match="closed"):
        await ledger.append("a", e.RunResumed(), 0.0)
    with pytest.raises(LedgerUnavailable, match="closed"):
        await ledger.runs()


# ---------------------------------------------------------------------------------- keeping and removing


async def test_a_removed_run_leaves_nothing_and_the_others_stay(connect: Connect) -> None:
    ledger, other = await connect(), await connect()
    for run_id in ("a", "b"):
        await ledger.append(run_id, started(run_id), 1.0)
        await ledger.append(run_id, e.EvidenceRecorded(evidence(ObservedCommand("ls", 0, 0.1, ""))), 2.0)
        await ledger.set_live(run_id, Live("busy", 2.0))
    before = await ledger.entries("b")
    assert await ledger.entry_counts() == {"a": 2, "b": 2}
    assert await other.remove("a", 2.0)
    for one in (ledger, other):
        assert [run.run_id for run in await one.runs()] == ["b"]
        assert (await one.entries("a"), await one.evidence("a", "E1"), await one.live("a")) == ([], None, Live())
        assert await one.trouble("a") is None, "who listed it before it went has nothing to complain of"
        assert await one.entries("b") == before
        assert not await one.remove("a", 2.0)


async def test_a_run_that_went_on_or_is_kept_is_not_removed(ledger: Ledger) -> None:
    await ledger.append("a", started("a"), 1.0)
    assert not await ledger.remove("a", 0.5)
    await ledger.keep("a", True)
    assert await ledger.kept() == {"a"}
    assert not await ledger.remove("a", 1.0)
    await ledger.keep("a", False)
    assert await ledger.kept() == frozenset()
    assert await ledger.remove("a", 1.0)
    with pytest.raises(UnknownRun):
        await ledger.keep("a", True)


async def test_whoever_has_read_a_run_that_was_removed_can_not_go_on_with_it(connect: Connect) -> None:
    ledger, other = await connect(), await connect()
    await other.append("a", started("a"), 1.0)
    await ledger.entries("a")
    assert await other.remove("a", 1.0)
    for one in (ledger, other):
        with pytest.raises(UnknownRun, match="removed"):
            await one.append("a", e.RunResumed(), 2.0)
    assert await ledger.runs() == []


async def test_the_trees_that_a_run_names_are_found(ledger: Ledger) -> None:
    one, two = "1" * 40, "2" * 40
    await ledger.append("a", started("a"), 1.0)
    await ledger.append("a", e.CheckpointTaken(1, one), 2.0)
    await ledger.append("a", e.TurnStarted(2, two), 3.0)
    assert await ledger.trees("a") == {one, two}

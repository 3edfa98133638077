"""A long run in little memory: what is kept of it does not grow."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from donewhen import GoalOutcome, arun_goal
from donewhen.core.calls import ConversationCompacted
from donewhen.core.events import RunStarted, Warned
from donewhen.store.memory import MemoryLedger
from tests.store.samples import GOAL, OPTIONS


async def test_a_bounded_ledger_keeps_the_first_entry_and_the_latest() -> None:
    ledger = MemoryLedger(keep=3)
    await ledger.append("r", RunStarted("r", "pursue", GOAL, OPTIONS, "rev"), 0.0)
    for number in range(1, 10):
        await ledger.append("r", Warned("code", str(number)), float(number))
    assert [entry.sequence for entry in await ledger.entries("r")] == [1, 8, 9, 10]
    assert [entry.sequence for entry in await ledger.entries("r", 8)] == [9, 10]
    assert (await ledger.append("r", ConversationCompacted((), 0), 10.0)).sequence == 11


async def grown(iterations: int) -> tuple[int, GoalOutcome]:
    """Bytes that are held when a run of so many iterations is about to end."""
    held: list[int] = []
    turns = 0

    async def worker(prompt: str) -> str:
        nonlocal turns
        turns += 1
        if turns == iterations:
            gc.collect()  # cycles that wait for the collector are not held
            held.append(tracemalloc.get_traced_memory()[0])
        return f"answer {turns}"

    async def check(response: Any, agent: Any) -> bool:
        return False

    tracemalloc.start()
    try:
        outcome = await arun_goal("Do it", worker, checks=[check], max_iterations=iterations, timeout="unlimited")
        return held[0], outcome
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.conformance("A7")
async def test_memory_stays_flat_however_long_a_run_is() -> None:
    """A short run loads what is loaded at first use; the next is long enough to fill what is kept."""
    await grown(10)
    short, _ = await grown(400)
    long, outcome = await grown(1_200)
    assert (outcome.status, outcome.iterations) == ("capped", 1_200)
    assert long < short * 1.08

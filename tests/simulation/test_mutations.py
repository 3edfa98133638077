"""The simulation finds what is broken: engines that are so on purpose, each within a few seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from donewhen.core.events import Entry, Event, RevisionConfirmed, RunStarted, TurnFinished
from donewhen.core.evidence import Evidence
from donewhen.core.fold import audit
from donewhen.core.state import RunState
from donewhen.engine import contexts, loop, tasks
from donewhen.engine.active import ActiveRun
from donewhen.engine.setup import EngineSetup
from tests.simulation.disk import Connection
from tests.simulation.simulation import Parts, simulate, unchanged

Breaks = Callable[[pytest.MonkeyPatch], Parts]


@dataclass(frozen=True, slots=True)
class Mutation:
    """`says` is a part of what the simulation finds, within so many seeds. One that finds it today is tried first."""

    name: str
    breaks: Breaks
    says: str
    found: int
    within: int = 60


class _Ledger(Connection):
    """A connection in another one's place."""

    def __init__(self, other: Connection) -> None:
        super().__init__(other._disk, other._host)


class _LastsNot(_Ledger):
    async def append(self, run_id: str, event: Event, at: float, *, durable: bool = True, **more: Any) -> Entry:
        # But for the first one: without that there is no run that anything could be said of.
        return await super().append(run_id, event, at, durable=isinstance(event, RunStarted), **more)


class _Twice(_Ledger):
    async def append(self, run_id: str, event: Event, at: float, **more: Any) -> Entry:
        if isinstance(event, TurnFinished):
            await super().append(run_id, event, at, **more)
        return await super().append(run_id, event, at, **more)


class _Forgets(_Ledger):
    """Says that a person's act is on record, and has only remembered the last thing that was."""

    async def append(self, run_id: str, event: Event, at: float, **more: Any) -> Entry:
        known = self._disk.entries(run_id)
        if type(event).__name__ in ("PersonDecided", "InterruptAnswered") and known:
            return replace(known[-1], event=event)
        return await super().append(run_id, event, at, **more)


def ledger(kind: type[_Ledger]) -> Breaks:
    def changed(setup: EngineSetup) -> EngineSetup:
        assert isinstance(setup.ledger, Connection)
        return replace(setup, ledger=kind(setup.ledger))

    return lambda patch: changed


def part(owner: Any, name: str, value: Any) -> Breaks:
    def broken(patch: pytest.MonkeyPatch) -> Parts:
        patch.setattr(owner, name, value)
        return unchanged

    return broken


async def _confirms_blindly(run: ActiveRun) -> None:
    await run.append(RevisionConfirmed(run.state.revision))


MUTATIONS = (
    Mutation("every result counts as fresh", part(Evidence, "fresh", lambda *_: True), "complete", 211, within=200),
    Mutation("findings are not looked at", part(RunState, "open_findings", ()), "open finding", 13, within=200),
    Mutation("flaky checks are trusted", part(audit, "_streak", lambda *_: None), "flaky", 1030, within=600),
    Mutation("no last look", part(loop, "_confirm", _confirms_blindly), "nobody has looked", 5),
    Mutation("no budget", part(contexts, "beyond_budget", lambda state, worst: None), "may pass the budget", 4),
    Mutation("no time limit", part(tasks.Preemption, "_is_due", lambda self: False), "neither ends nor waits", 25),
    Mutation("intents are not synced", ledger(_LastsNot), "nothing on the disk itself says so", 0),
    Mutation("results are recorded twice", ledger(_Twice), "had not begun", 0),
    Mutation("acts are acknowledged and not kept", ledger(_Forgets), "said to be", 2),
)  # fmt: skip


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)
def test_a_broken_engine_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = mutation.breaks(monkeypatch)
    for seed in dict.fromkeys((mutation.found, *range(mutation.within))):
        if any(mutation.says in text for text in simulate(seed, parts=parts).broken):
            return
    pytest.fail(f"no seed below {mutation.within} finds it")

"""What is removed of the record, beside runs that go on meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from donewhen.core.errors import NotResumable
from donewhen.core.events import RunResumed
from donewhen.core.retention import Retention
from donewhen.ports import RunSummary
from donewhen.store.memory import MemoryLedger

from .world import World, pursue


class Elsewhere(MemoryLedger):
    """A ledger on which another process resumes or removes a run, right after the runs were listed here."""

    resumes: str | None = None
    removes: str | None = None

    async def runs(self) -> Sequence[RunSummary]:
        listed = await super().runs()
        if self.resumes is not None:
            run_id, self.resumes = self.resumes, None
            await self.append(run_id, RunResumed(), listed[0].updated_at + 1.0)
        if self.removes is not None:
            run_id, self.removes = self.removes, None
            await self.remove(run_id, next(one.updated_at for one in listed if one.run_id == run_id))
        return listed


async def test_a_run_that_another_process_resumes_meanwhile_stays(world: World) -> None:
    world.ledger = ledger = Elsewhere()
    old, resumed, _ = [(await pursue(world)).state.run_id for _ in range(3)]
    ledger.resumes = resumed
    done = await world.supervisor(ledger=ledger).collect(Retention(runs=1))
    assert [one.run_id for one in done.going] == [old]
    assert {one.run_id for one in await ledger.runs()} >= {resumed}


async def test_a_run_that_another_process_removes_meanwhile_hides_no_other(world: World) -> None:
    world.ledger = ledger = Elsewhere()
    old, gone = [(await pursue(world)).state.run_id for _ in range(2)]
    ledger.removes = gone
    assert [view.state.run_id for view in await world.supervisor(ledger=ledger).views()] == [old]


async def test_a_run_that_another_process_removes_meanwhile_is_not_the_one_to_resume(world: World) -> None:
    world.ledger = ledger = Elsewhere()
    ledger.removes = (await pursue(world)).state.run_id
    with pytest.raises(NotResumable, match="no run here can be resumed"):
        await world.supervisor(ledger=ledger).resume()

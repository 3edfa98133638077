"""What is removed of the record, beside runs that go on meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from donewhen.core.events import RunResumed
from donewhen.core.retention import Retention
from donewhen.ports import RunSummary
from donewhen.store.memory import MemoryLedger

from .world import World, pursue


class Elsewhere(MemoryLedger):
    """A ledger on which another process resumes a run, right after the runs were listed here."""

    resumes: str | None = None

    async def runs(self) -> Sequence[RunSummary]:
        listed = await super().runs()
        if self.resumes is not None:
            run_id, self.resumes = self.resumes, None
            await self.append(run_id, RunResumed(), listed[0].updated_at + 1.0)
        return listed


async def test_a_run_that_another_process_resumes_meanwhile_stays(world: World) -> None:
    world.ledger = ledger = Elsewhere()
    old, resumed, _ = [(await pursue(world)).state.run_id for _ in range(3)]
    ledger.resumes = resumed
    done = await world.supervisor(ledger=ledger).collect(Retention(runs=1))
    assert [one.run_id for one in done.going] == [old]
    assert {one.run_id for one in await ledger.runs()} >= {resumed}

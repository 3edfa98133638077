"""Plays a case when a test asks for it; the bytecode of what cases run is compiled once a session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from donewhen.composition_bench import laboratory
from donewhen.goalbench.cases import Case, JudgeName
from donewhen.goalbench.playing import OWN, Laboratory, Played, play
from donewhen.goalbench.selecting import missing
from donewhen.goalbench.verdicts import scripted_judge

Play = Callable[..., Awaitable[Played]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _laboratory() -> AsyncIterator[Laboratory]:
    async with laboratory() as made:
        yield made


@pytest.fixture
def played(_laboratory: Laboratory) -> Play:
    """How a case ends with a judge, its own by default; skips one whose programs aren't here."""

    async def played_with(case: Case, judge: JudgeName | None = None) -> Played:
        if missing(case):
            pytest.skip(f"it needs {', '.join(missing(case))}")
        chosen: JudgeName = judge or case.judge
        return await play(case, _laboratory, lambda one, root: scripted_judge(chosen, one, root), name=judge or OWN)

    return played_with

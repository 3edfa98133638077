"""Plays a case when a test asks for it; the bytecode of what cases run is compiled once a session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from donewhen.extras.goalbench.cases import Case, JudgeName
from donewhen.extras.goalbench.environment import bench_environment
from donewhen.extras.goalbench.playing import OWN, BenchEnvironment, CaseResult, run_case
from donewhen.extras.goalbench.scoring import missing
from donewhen.extras.goalbench.verdicts import scripted_judge

Play = Callable[..., Awaitable[CaseResult]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _bench() -> AsyncIterator[BenchEnvironment]:
    async with bench_environment() as made:
        yield made


@pytest.fixture
def played(_bench: BenchEnvironment) -> Play:
    """How a case ends with a judge, its own by default; skips one whose programs aren't here."""

    async def played_with(case: Case, judge: JudgeName | None = None) -> CaseResult:
        if missing(case):
            pytest.skip(f"it needs {', '.join(missing(case))}")
        chosen: JudgeName = judge or case.judge
        return await run_case(case, _bench, lambda one, root: scripted_judge(chosen, one, root), name=judge or OWN)

    return played_with

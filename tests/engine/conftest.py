from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.core.builders import goal, requirement
from tests.engine.world import World, contains


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A workspace where R1 is proven once a.py holds "good"."""
    made = World(tmp_path)
    made.goals["GOAL.md"] = goal(requirement(1, "it works", "check", sole=True))
    made.checker.behaviours["check"] = contains("a.py", "good")
    yield made
    await made.close()

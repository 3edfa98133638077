"""Files that are heavy to read hold up neither a run's limits nor a stop: a source of megabytes with long lines, and a
file of holes. With the real runner on a real folder."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from donewhen.app.engine import open_engine
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.engine.api import LimitChanges, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.settings.loading import Settings
from tests.engine.world import ended, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the worker's command is written for a POSIX shell")

HEAVY = """
import os, pathlib
asks = 'x = os.environ.get("PYTEST_CURRENT_TEST"); '
pathlib.Path("long.py").write_text("import os\\n" + "\\n".join([asks * 22_000] * 5))
pathlib.Path("line.py").write_text("import os\\n" + asks * 4_000)
with open("holes.py", "wb") as file:
    file.truncate(200 * 1024**3)
pathlib.Path("made").touch()
"""
LONGEST_GAP = 2.0
"""Seconds of work for which the loop may be held up, whatever else the machine does: in them nobody is answered."""


@asynccontextmanager
async def heavy(tmp_path: Path, check: str) -> AsyncIterator[tuple[Supervisor, list[float]]]:
    """Runs of a workspace whose worker writes heavy files, and how long each time the loop did nothing else."""
    root = tmp_path / "w"
    root.mkdir()
    (root / "GOAL.md").write_text(f"# Make it\n\n- [ ] `{check}` passes\n", encoding="utf-8")
    (root / "work.py").write_text(HEAVY, encoding="utf-8")
    gaps = [0.0]

    async def beat() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.02)
            gaps.append(time.thread_time() - before)

    runs = await open_engine(root, tmp_path / "state", Settings(), WorkspaceContext())
    beating = asyncio.ensure_future(beat())
    try:
        yield runs, gaps
    finally:
        beating.cancel()
        await runs.close("the test ended")


WORK = StartOptions(worker="command", worker_command=f"{sys.executable} work.py")


@pytest.mark.slow
async def test_heavy_files_do_not_keep_a_run_from_its_end(tmp_path: Path) -> None:
    async with heavy(tmp_path, "test -f made") as (runs, gaps):
        view = await ended(runs, (await runs.start("GOAL.md", WORK)).state.run_id)
        assert view.state.iteration == 1
        assert view.state.status in ("complete", "blocked")
    assert max(gaps) < LONGEST_GAP


@pytest.mark.slow
async def test_heavy_files_do_not_hold_up_a_limit_of_time(tmp_path: Path) -> None:
    async with heavy(tmp_path, "test -f never") as (runs, gaps):
        begun = time.monotonic()
        limits = LimitChanges(max_iterations="unlimited", timeout=2.0)  # a fast machine plays ten in that time
        options = StartOptions("command", WORK.worker_command, limits=limits)
        view = await ended(runs, (await runs.start("GOAL.md", options)).state.run_id)
        assert view.state.status == "timed_out"
        assert time.monotonic() - begun < 15
    assert max(gaps) < LONGEST_GAP


async def test_heavy_files_do_not_hold_up_a_stop(tmp_path: Path) -> None:
    async with heavy(tmp_path, "test -f never") as (runs, gaps):
        unlimited = StartOptions("command", WORK.worker_command, limits=LimitChanges(max_iterations="unlimited"))
        run = (await runs.start("GOAL.md", unlimited)).state.run_id
        await until(runs, run, lambda view: view.state.iteration >= 1)
        begun = time.monotonic()
        await runs.stop(run, "enough")
        assert (await ended(runs, run)).state.status == "cancelled"
        assert time.monotonic() - begun < 10
    assert max(gaps) < LONGEST_GAP

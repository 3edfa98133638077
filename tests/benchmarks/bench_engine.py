"""What the engine itself costs per iteration: a worker that does nothing, no check, the ledger at FULL sync."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.events import RunOptions
from donewhen.core.goal import Goal, Limits, Requirement
from donewhen.core.work import TurnResult
from donewhen.engine.clock import SystemClock
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import EngineSetup, Start
from donewhen.evidence.probes import WorkspaceProbes
from donewhen.ports import Turn, TurnContext
from donewhen.store.sqlite import SqliteLedger
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.locks import FileRunLock
from tests.engine.world import MemoryChecker

ITERATIONS = 200
GOAL = Goal(
    "Nothing",
    "Nothing to do",
    # One that a check could decide and never does, so that the loop goes on.
    (Requirement("r-1", 1, "never", problems=("*.py",)),),
    Limits(max_iterations=ITERATIONS, stall_after=None),
    path="GOAL.md",
)


@dataclass
class Idle:
    name: str = "command"
    waits_for_person: bool = False

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        return TurnResult()


class Goals:
    def load(self, path: str) -> Goal:
        return GOAL


def measure() -> dict[str, float]:
    """Milliseconds per iteration: in all, of that the syncs of as many bare appends, and what is left."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> dict[str, float]:
    root, state = folder / "w", folder / "state"
    root.mkdir()
    state.mkdir()
    (root / "a.py").write_text("x = 1\n", encoding="utf-8")
    ledger = await SqliteLedger.open(state / "ledger.sqlite")
    checker = MemoryChecker(world=None)  # type: ignore[arg-type]
    from donewhen.core.evidence import Problem

    checker.problems = (Problem("a.py", 0, "an error"),)
    supervisor = Supervisor(
        EngineSetup(
            root=root,
            state_folder=state,
            clock=SystemClock(),
            ledger=ledger,
            lock=FileRunLock(state),
            workspace=lambda: FolderWorkspace(root, state / "checkpoints"),
            checker=checker,
            probes=WorkspaceProbes(dict),
            goal_files=Goals(),
            settle=lambda goal, options: Start(goal, RunOptions(worker="command")),
            worker=lambda options: Idle(),
            judge=lambda options: None,
        )
    )
    begun = time.perf_counter()
    view = await supervisor.start("GOAL.md")
    async for seen in supervisor.follow(view.state.run_id):
        view = seen
    seconds = time.perf_counter() - begun
    entries = await ledger.entries(view.state.run_id)
    await supervisor.close("measured")
    done = view.state.iteration
    syncs = _syncs(state / "bare.sqlite", len(entries))
    return {
        "iterations": done,
        "appends per iteration": round(len(entries) / done, 1),
        "ms per iteration": round(1000 * seconds / done, 2),
        "ms of bare FULL syncs": round(1000 * syncs / done, 2),
        "ms beyond the syncs": round(1000 * (seconds - syncs) / done, 2),
    }


def _syncs(path: Path, count: int) -> float:
    """Seconds for as many bare appends with FULL sync."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT)")
    begun = time.perf_counter()
    for _ in range(count):
        connection.execute("INSERT INTO t (body) VALUES (?)", ("x" * 300,))
    seconds = time.perf_counter() - begun
    connection.close()
    return seconds


if __name__ == "__main__":
    print(measure())

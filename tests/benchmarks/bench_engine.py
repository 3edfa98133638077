"""What the engine itself costs per iteration: a worker that does nothing, no check, the ledger at FULL sync."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.events import Entry, Event, RunOptions
from donewhen.core.goal import Goal, Limits, Requirement
from donewhen.core.work import TurnResult
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import EngineSetup, Start, SystemClock
from donewhen.evidence.probes.reading import WorkspaceProbes
from donewhen.ports import Turn, TurnContext
from donewhen.store.sqlite import SqliteLedger
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.locks import FileRunLock
from tests.engine.world import MemoryChecker

ITERATIONS = 200
SYNCS = 3
"""What an iteration needs: before the worker works, before checks run, before anything is decided on them."""
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
    """Does nothing in its turn but as many bare FULL syncs as an iteration has: measured at the same time,
    since a disk's speed changes from second to second."""

    bare: BareAppends
    name: str = "command"
    waits_for_person: bool = False

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        await asyncio.to_thread(self.bare.append, SYNCS)
        return TurnResult()


class TimedLedger(SqliteLedger):
    """Knows how long its appends took, syncs included, and how many synced."""

    seconds = 0.0
    syncs = 0

    async def append(
        self, run_id: str, event: Event, at: float, *, durable: bool = True, seconds: float | None = None,
        after: int | None = None, alone: bool = False,
    ) -> Entry:  # fmt: skip
        begun = time.perf_counter()
        self.syncs += durable
        try:
            return await super().append(run_id, event, at, durable=durable, seconds=seconds, after=after, alone=alone)
        finally:
            self.seconds += time.perf_counter() - begun


class BareAppends:
    """Rows of an event's size in a database of its own."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for statement in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            "CREATE TABLE t (n INTEGER, body TEXT)",
        ):
            self._connection.execute(statement)
        self.seconds = 0.0

    def append(self, count: int) -> None:
        begun = time.perf_counter()
        for number in range(count):
            self._connection.execute("INSERT INTO t VALUES (?, ?)", (number, "x" * 300))
        self.seconds += time.perf_counter() - begun

    def close(self) -> None:
        self._connection.close()


class Goals:
    def load(self, path: str) -> Goal:
        return GOAL


def measure() -> dict[str, float]:
    """Milliseconds per iteration: in all, in the ledger, and what is left; beside them as many bare appends."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> dict[str, float]:
    root, state = folder / "w", folder / "state"
    root.mkdir()
    state.mkdir()
    (root / "a.py").write_text("x = 1\n", encoding="utf-8")
    ledger = await TimedLedger.open(state / "ledger.sqlite")
    bare = BareAppends(state / "bare.sqlite")
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
            load_goal=Goals().load,
            settle=lambda goal, options: Start(goal, RunOptions(worker="command")),
            worker=lambda options: Idle(bare),
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
    bare.close()
    ours = seconds - bare.seconds
    return {
        "iterations": done,
        "appends per iteration": round(len(entries) / done, 1),
        "ms per iteration": round(1000 * ours / done, 2),
        f"ms of {SYNCS} bare FULL syncs": round(1000 * bare.seconds / done, 2),
        "ms in the ledger": round(1000 * ledger.seconds / done, 2),
        "ms of the engine itself": round(1000 * (ours - ledger.seconds) / done, 2),
    }


if __name__ == "__main__":
    print(measure())

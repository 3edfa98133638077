"""Rooms: how long one takes to open in small and large workspaces, and what trials add to a completion."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from donewhen.app.engine import engine_setup
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core import events as e
from donewhen.core.evidence import CheckResult, Trial
from donewhen.core.goal import Check
from donewhen.engine.api import StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.evidence.runner import CommandChecker
from donewhen.ports import Checker, Laid, Processes
from donewhen.settings.loading import Settings
from donewhen.store.memory import MemoryLedger
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.copying import CopiedRooms
from donewhen.workspace.rooms.showing import RoomSpec
from donewhen.workspace.rooms.trials import TrialRooms

ROUNDS = 9
SIZES = (100, 10_000, 100_000)
SECONDS = 2.0
"""How long the check of a completion takes."""


def measure(rounds: int = ROUNDS, sizes: Sequence[int] = SIZES) -> dict[str, object]:
    return asyncio.run(_measure(rounds, sizes))


async def _measure(rounds: int, sizes: Sequence[int]) -> dict[str, object]:
    found: dict[str, object] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            found |= await _open(Path(folder), size, rounds)
    kinds = {"unchanged": "", "changed": "open('tests/test_a.py', 'a').write('# more\\n');"}
    for name, edits in {**kinds, "unchanged (work that asks something)": ""}.items():
        with tempfile.TemporaryDirectory() as folder:
            found |= await _complete(Path(folder), name, edits)
    return found


async def _open(folder: Path, size: int, rounds: int) -> dict[str, object]:
    """Opening a room and closing it, and running `true` in it, over running it outside."""
    root, state = folder / "w", folder / "state"
    for number in range(size):
        file = root / f"d{number // 200:03}" / f"f{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(number))
    state.mkdir()
    processes, variables = SystemProcesses(), dict(os.environ)

    def inside(processes: Processes, at: Path, scratch: Path, written: Path | None) -> Checker:
        return CommandChecker(processes, at, scratch, lambda: variables, bytecode=state, written=written)

    workspace = FolderWorkspace(root, state / "checkpoints", watch=False)
    await workspace.open([])
    plain = CommandChecker(processes, root, state, lambda: variables, bytecode=state)
    spec = RoomSpec("layered", root, contained=False)
    rooms = TrialRooms(spec, state / "rooms", processes, inside, lambda: variables)
    copies = CopiedRooms(state / "copies", processes, inside)
    laid = [Laid("d000/f1.txt", content=b"other")]
    await rooms.hindrance(workspace)
    kind = ""
    opened: list[float] = []
    beyond: list[float] = []
    copied: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        async with rooms.open(workspace, laid) as room:
            kind = room.kind
            opened.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            await room.checker.run(Check.of("true"), timeout=60, token="bench")
            ran = time.perf_counter() - begun
        begun = time.perf_counter()
        await plain.run(Check.of("true"), timeout=60, token="bench")
        beyond.append(ran - (time.perf_counter() - begun))
    for _ in range(max(1, rounds // 4)):
        begun = time.perf_counter()
        async with copies.open(workspace, laid):
            copied.append(time.perf_counter() - begun)
    await workspace.close()
    return {
        f"{kind} of {size:,} files opened, ms (p50, worst)": (_ms(statistics.median(opened)), _ms(max(opened))),
        f"a command in a room of {size:,} files beyond one outside, ms (p50)": _ms(statistics.median(beyond)),
        f"copy of {size:,} files opened, ms (p50)": _ms(statistics.median(copied)),
    }


async def _complete(folder: Path, name: str, edits: str) -> dict[str, object]:
    """A run of one turn: the time from the end of its audit to its end, over what its check takes."""
    root, state = folder / "w", folder / "state" / "workspaces" / "w"
    (root / "tests").mkdir(parents=True)
    state.mkdir(parents=True)
    (root / "product.py").write_text("VALUE = 1\n")
    (root / "tests/test_a.py").write_text(
        f"import time\nimport product\n\ndef test_a():\n    time.sleep({SECONDS})\n    assert product.VALUE == 2\n"
    )
    (root / "GOAL.md").write_text("# Value\n\n- [ ] `python -m pytest -q -p no:cacheprovider` passes\n")
    (root / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    worker = folder / "worker.py"
    asks = 'import os\\nHERE = os.getcwd()\\nDEBUG = os.environ.get("DEBUG")\\n' if "asks" in name else ""
    worker.write_text(f"{edits}open('product.py', 'w').write('VALUE = 2\\n{asks}')\n")
    context = WorkspaceContext(interpreter=lambda: Path(sys.executable))
    ledger = MemoryLedger()
    supervisor = Supervisor(engine_setup(root, state, folder / "state/pycache", ledger, Settings(), context))
    try:
        options = StartOptions(worker="command", worker_command=f"{sys.executable} {worker}", askable=False)
        view = await supervisor.start("GOAL.md", options)
        async for seen in supervisor.follow(view.state.run_id):
            view = seen
        assert view.state.status == "complete", view.state.lifecycle.reason
        entries = await ledger.entries(view.state.run_id)
    finally:
        await supervisor.close("measured")
    audits = [x.at for x in entries if isinstance(x.event, e.AuditFinished)]
    ended = next(x.at for x in entries if isinstance(x.event, e.RunEnded))
    observed = [x.event.evidence.observation for x in entries if isinstance(x.event, e.EvidenceRecorded)]
    check = [one for one in observed if isinstance(one, CheckResult)][-1]
    trials = [one.tried for one in observed if isinstance(one, Trial)]
    return {
        f"completion with {name} proof over its check": round((ended - audits[-1]) / check.seconds, 2),
        f"trials with {name} proof": ", ".join(trials),
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


if __name__ == "__main__":
    for figure, value in measure().items():
        print(figure, value)

"""What the Python library costs: its import, the loop around callables in memory and on disk, memory in a long run."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from donewhen import arun_goal
from tests.benchmarks.bench_engine import BareAppends

ITERATIONS = 1_000
DURABLE = 200
SYNCS = 3
LONG = 10_000
HEAVY = ("litellm", "pygls", "watchfiles")

_IMPORT = """
import json, sys, time
begun = time.perf_counter()
{statement}
seconds = time.perf_counter() - begun
print(json.dumps([seconds, sorted(set(sys.modules) & {heavy}), len(sys.modules)]))
"""


def measure() -> dict[str, Any]:
    """Milliseconds and megabytes, by what was measured."""
    return {**_imports(), **asyncio.run(_loops()), **asyncio.run(_memory())}


def _imports() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for statement in ("import donewhen", "from donewhen import run_goal", "import donewhen.plugins"):
        runs = [_import(statement) for _ in range(7)]
        found[f"ms of `{statement}` (p50 of 7)"] = round(1000 * statistics.median(one[0] for one in runs), 1)
        found[f"heavy modules after `{statement}`"] = runs[0][1] or "none"
    return found


def _import(statement: str) -> tuple[float, list[str], int]:
    code = _IMPORT.format(statement=statement, heavy=set(HEAVY))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, heavy, modules = json.loads(done.stdout)
    return seconds, heavy, modules


async def _loops() -> dict[str, Any]:
    async def worker(prompt: str) -> str:
        return "no"

    async def validator(response: Any, agent: Any) -> bool:
        return False

    return {
        "ms per iteration in memory, async callables": await _per_iteration(worker, validator),
        "ms per iteration in memory, sync callables (two threads)": await _per_iteration(
            lambda prompt: "no", lambda response, agent: False
        ),
        **await _durable(validator),
    }


async def _per_iteration(worker: Any, validator: Any) -> float:
    begun = time.perf_counter()
    outcome = await arun_goal("Say yes", worker, checks=[validator], max_iterations=ITERATIONS)
    assert outcome.iterations == ITERATIONS, outcome
    return round(1000 * (time.perf_counter() - begun) / ITERATIONS, 2)


async def _durable(validator: Any) -> dict[str, Any]:
    """Beside it, in each turn, as many bare syncs as an iteration has appends: a disk's speed changes all the time."""
    with tempfile.TemporaryDirectory() as folder:
        root, state = Path(folder) / "w", Path(folder) / "state"
        root.mkdir()
        state.mkdir()
        (root / "a.py").write_text("x = 1\n", encoding="utf-8")
        bare = BareAppends(Path(folder) / "bare.sqlite")

        async def worker(prompt: str) -> str:
            await asyncio.to_thread(bare.append, SYNCS)
            return "no"

        begun = time.perf_counter()
        outcome = await arun_goal(
            "Say yes", worker, checks=[validator], max_iterations=DURABLE, workspace=root, state_dir=state
        )
        seconds = time.perf_counter() - begun
        bare.close()
        assert outcome.iterations == DURABLE, outcome
        return {
            f"ms per iteration with the durable ledger, beyond {SYNCS} bare syncs": round(
                1000 * (seconds - bare.seconds) / DURABLE, 2
            ),
            f"ms of {SYNCS} bare syncs": round(1000 * bare.seconds / DURABLE, 2),
        }


async def _memory() -> dict[str, Any]:
    """The memory of this process after a tenth of the iterations, and after all of them."""
    process = psutil.Process()
    seen: dict[int, float] = {}
    count = 0

    async def worker(prompt: str) -> str:
        nonlocal count
        count += 1
        if count in (LONG // 10, LONG):
            seen[count] = process.memory_info().rss / 1e6
        return "no"

    async def validator(response: Any, agent: Any) -> bool:
        return False

    begun = time.perf_counter()
    await arun_goal("Say yes", worker, checks=[validator], max_iterations=LONG, timeout="unlimited")
    return {
        f"seconds for {LONG:,} iterations": round(time.perf_counter() - begun, 1),
        f"MB after {LONG // 10:,} iterations": round(seen[LONG // 10], 1),
        f"MB after {LONG:,} iterations": round(seen[LONG], 1),
    }


if __name__ == "__main__":
    for figure, value in measure().items():
        print(f"- {figure}: {value}")

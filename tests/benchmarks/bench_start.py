"""The start of the shortest commands against that of Python itself, turn by turn in one run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 30


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Medians in ms, and what `--version` takes beyond 1.5 times `python -c pass` (aimed at: 20 ms at most)."""
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "donewhen --version": [str(Path(sys.executable).with_name("donewhen")), "--version"],
        "python -m donewhen --version": [sys.executable, "-m", "donewhen", "--version"],
        "donewhen status, no run": [str(Path(sys.executable).with_name("donewhen")), "status"],
        "python -c 'import asyncio'": [sys.executable, "-c", "import asyncio"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DONEWHEN_STATE_DIR": f"{folder}/state", "XDG_CONFIG_HOME": folder}
        for _ in range(rounds):
            for name, command in commands.items():
                begun = time.perf_counter()
                subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
                times[name].append(1000 * (time.perf_counter() - begun))
    results = {f"{name}, ms": round(statistics.median(each), 1) for name, each in times.items()}
    bare = statistics.median(times["python -c pass"])
    for name in tuple(commands)[1:3]:
        median = statistics.median(times[name])
        results[f"{name}, over python -c pass"] = round(median / bare, 2)
        results[f"{name}, beyond 1.5 x, ms"] = round(median - 1.5 * bare, 1)
    return results


if __name__ == "__main__":
    print(measure())

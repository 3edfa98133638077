"""One audit by `donewhen check` against running its checks by hand, side by side in one run."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from donewhen.app.engine import open_engine
from donewhen.settings.loading import Settings

ROUNDS = 5


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Ratios of the time of an audit to that of its checks: one check of 1 s, two of them side by side."""
    return asyncio.run(_measure(rounds))


async def _measure(rounds: int) -> dict[str, float]:
    results: dict[str, float] = {}
    for count in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "w"
            root.mkdir()
            commands = [
                f"{sys.executable} -c 'import time; time.sleep({1 + number / 1000})'" for number in range(count)
            ]
            items = "\n".join(f"- [ ] `{command}` passes" for command in commands)
            (root / "GOAL.md").write_text(f"# Slow checks\n\n{items}\n", encoding="utf-8")
            results |= await _compare(root, Path(folder) / "state", commands, rounds)
    return results


async def _compare(root: Path, state: Path, commands: list[str], rounds: int) -> dict[str, float]:
    runs = await open_engine(root, state, Settings())
    ours: list[float] = []
    by_hand: list[float] = []
    try:
        await runs.check("GOAL.md")  # what is loaded once is not counted
        for _ in range(rounds):
            begun = time.perf_counter()
            await runs.check("GOAL.md")
            ours.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            await asyncio.gather(*(_by_hand(command, root) for command in commands))
            by_hand.append(time.perf_counter() - begun)
    finally:
        await runs.close("measured")
    pairs = [mine / theirs for mine, theirs in zip(ours, by_hand, strict=True)]
    name = f"audit of {len(commands)} x 1 s"
    return {
        f"{name}, s": round(statistics.median(ours), 3),
        f"{name} by hand, s": round(statistics.median(by_hand), 3),
        f"{name}, ratio": round(statistics.median(pairs), 3),
    }


async def _by_hand(command: str, root: Path) -> None:
    process = await asyncio.create_subprocess_shell(command, cwd=root, stdin=asyncio.subprocess.DEVNULL)
    await process.wait()


if __name__ == "__main__":
    print(measure())

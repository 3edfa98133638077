"""How many events a second the ledger keeps, beside bare SQLite with rows of the same size.

`measure()` returns appends per second: `full` and `normal` through the ledger, `raw_full` and `raw_normal` without
it, the ratios, the microseconds to encode and to decode one event, and the milliseconds to read 2,000 entries.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import tempfile
import time
from pathlib import Path

from donewhen.core.events import EvidenceRecorded
from donewhen.core.evidence import CheckResult, Evidence, Outcome
from donewhen.store.codec import decode, encode
from donewhen.store.sqlite import SqliteLedger

RESULT = CheckResult("c-1", "pytest -q", Outcome.PASSED, "2 tests passed", 0, 1.0, 0.5, "." * 600, 600, "d" * 64)
EVENT = EvidenceRecorded(Evidence("E1", "r" * 64, "r" * 64, 1, RESULT))


def measure(seconds: float = 2.0) -> dict[str, float]:
    """Each figure takes about `seconds`."""
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(_ledger(Path(folder) / "ledger.sqlite", seconds))
        for level in ("full", "normal"):
            figures[f"raw_{level}"] = _raw(Path(folder) / f"raw_{level}", level.upper(), seconds)
    figures["full_share_of_raw"] = figures["full"] / figures["raw_full"]
    figures["normal_share_of_raw"] = figures["normal"] / figures["raw_normal"]
    figures["encode_us"] = _microseconds(lambda: encode(EVENT))
    text = encode(EVENT)
    figures["decode_us"] = _microseconds(lambda: decode(text))
    return {name: round(value, 2) for name, value in figures.items()}


async def _ledger(path: Path, seconds: float) -> dict[str, float]:
    ledger = await SqliteLedger.open(path)
    figures: dict[str, float] = {}
    for name, durable in (("full", True), ("normal", False)):
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            await ledger.append(name, EVENT, 1.0, durable=durable)
            count += 1
        figures[name] = count / (time.perf_counter() - begun)
    for _ in range(2000):
        await ledger.append("read", EVENT, 1.0, durable=False)
    begun = time.perf_counter()
    await ledger.entries("read")
    figures["read_2000_ms"] = (time.perf_counter() - begun) * 1000
    await ledger.close()
    return figures


def _raw(path: Path, level: str, seconds: float) -> float:
    """One row of the same size a transaction, nothing else."""
    body = encode(EVENT)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {level}")
        connection.execute("CREATE TABLE entries (run_id TEXT, sequence INTEGER, body TEXT)")
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            connection.execute("INSERT INTO entries VALUES (?, ?, ?)", ("run", count, body))
            count += 1
        return count / (time.perf_counter() - begun)


def _microseconds(action: object, repeats: int = 2000) -> float:
    assert callable(action)
    begun = time.perf_counter()
    for _ in range(repeats):
        action()
    return (time.perf_counter() - begun) / repeats * 1e6


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))

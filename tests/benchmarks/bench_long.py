"""A run of 40 iterations and 20,000 entries: how long it takes to read it, and to go on with it.

`measure()` returns seconds: `open`, `list` and `status` as a new process would need, where nothing is kept but on the
disk; `append`, the first entry by whoever goes on; and beside them `bare`, SQLite opened and the list read. `bytes` is
the ledger's size.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from donewhen.core import events as e
from donewhen.core.calls import ConversationCompacted, Message, ToolFinished, ToolStarted
from donewhen.core.evidence import CheckResult, Evidence, Outcome
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.work import Claim, TurnResult, WorkerStep
from donewhen.engine.records import Records
from donewhen.store.codec import CODEC_VERSION, encode
from donewhen.store.opening import open_ledger
from donewhen.store.sqlite import SqliteLedger
from donewhen.store.summary import RunRecord, updated
from donewhen.store.tables import START, linked, put_record, transaction

RUN = "10000000"
GOAL = Goal("Long", "A long run", (Requirement("r-1", 1, "holds", checks=(Check("c-1", "true"),)),), path="GOAL.md")


def events(iterations: int, entries: int) -> Iterator[e.Event]:
    """A run whose worker calls tools all the time, compacts its conversation now and then, and isn't over."""
    yield e.RunStarted(RUN, "pursue", GOAL, e.RunOptions(worker="agent"), "r0")
    each = (entries - 2) // iterations
    for number in range(1, iterations + 1):
        yield e.TurnStarted(number, "1" * 40)
        for call in range((each - 8) // 2):
            if call % 100 == 0:
                yield ConversationCompacted((Message("user", "what was done so far"),), 100)
            name = f"{number}-{call}"
            yield ToolStarted(name, "read_file", "src/a.py")
            yield ToolFinished(name, WorkerStep("read_file", "src/a.py"), Message("tool", "x" * 80, answers=name))
        yield e.TurnFinished(number, TurnResult(Claim("finished", "done")), ("src/a.py",))
        yield e.CheckpointTaken(number, "2" * 40)
        yield e.AuditStarted(number, f"r{number}")
        result = CheckResult("c-1", "true", Outcome.FAILED, "exit code 1", 1, 0.1, 0.0, "no" * 200, 400, "d" * 64)
        yield e.EvidenceRecorded(Evidence(f"E{number}", f"r{number}", f"r{number}", number, result))
        yield e.AuditFinished(number, f"r{number}")
    yield e.RunPaused("for the measurement")


def generate(path: Path, iterations: int = 40, entries: int = 20_000) -> int:
    """Puts such a run on record, by the statements of the ledger but in one transaction. Returns how many entries."""
    connection, _ = open_ledger(path)
    with contextlib.closing(connection):
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        before: bytes = START
        record: RunRecord | None = None
        count = 0
        for count, event in enumerate(events(iterations, entries), 1):
            body, at, kind = encode(event), float(count), type(event).__name__
            known = event.evidence.id if isinstance(event, e.EvidenceRecorded) else None
            before = linked(before, (RUN, count, at, CODEC_VERSION, kind, 0.01, known), body.encode("ascii"))
            record = updated(record, event, at)
            connection.execute(
                "INSERT INTO entries (run_id, sequence, at, version, type, body, evidence_id, digest, seconds) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (RUN, count, at, CODEC_VERSION, kind, body, known, before, 0.01),
            )
        connection.execute("COMMIT")
        assert record is not None
        with transaction(connection):
            put_record(connection, record, before)
    return count


async def read(path: Path) -> dict[str, float]:
    """As a new process would, but for the imports."""
    figures: dict[str, float] = {}

    @contextlib.contextmanager
    def timed(name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        figures[name] = time.perf_counter() - begun

    with timed("open"):
        ledger = await SqliteLedger.open(path)
    records = Records(path.parent, ledger)
    with timed("list"):
        (summary,) = await records.summaries()
    assert summary.status == "paused", summary
    with timed("status"):
        state = await records.state(RUN)
    with timed("append"):
        entry = await ledger.append(RUN, e.RunResumed(), 1.0)
    assert entry.sequence == state.sequence + 1
    await ledger.append(RUN, e.RunPaused("for the measurement"), 1.0)
    await ledger.close()
    return figures


def measure(iterations: int = 40, entries: int = 20_000) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.sqlite"
        figures: dict[str, float] = {"entries": float(generate(path, iterations, entries))}
        figures.update(asyncio.run(read(path)))
        begun = time.perf_counter()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("SELECT * FROM runs").fetchall()
        figures["bare"] = time.perf_counter() - begun
        figures["bytes"] = float(path.stat().st_size)
    return {name: round(value, 4) for name, value in figures.items()}


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:])), indent=2))

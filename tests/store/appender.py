"""Appends until it is killed, printing each acknowledged sequence: `appender.py FILE`. For the tests of kill -9."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from donewhen.core.events import RunPaused, Warned
from donewhen.store.faults import fault_from_environment
from donewhen.store.sqlite import SqliteLedger


async def main(file: str) -> None:
    ledger = await SqliteLedger.open(Path(file), fault=fault_from_environment(os.environ))
    while True:
        entry = await ledger.append("a", RunPaused("x" * 500), 1.0)
        print(entry.sequence, flush=True)
        await ledger.append("chatter", Warned("n", "y"), 1.0, durable=False)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

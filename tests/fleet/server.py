"""A real Temporal server on loopback, with a database that outlives it, and workers as processes of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.client import Client

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.temporal.client import connected

MOST_EVENTS = 200
"""After so many a workflow is to continue as new: few, so that tests see it happen."""
PROGRAM = Path(sys.executable).parent / "temporal"


@dataclass
class Rig:
    """The server and the workers of one test; `kill` is SIGKILL, which nothing can prepare for."""

    folder: Path
    ports: tuple[int, int, int]
    server: Process | None = None
    workers: list[Process] = field(default_factory=list[Process])

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    async def start_server(self) -> Client:
        grpc, http, metrics = map(str, self.ports)
        self.server = await self._started(
            "server.log", str(PROGRAM), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", grpc,
            "--http-port", http, "--metrics-port", metrics, "--log-level", "error",
            "--dynamic-config-value", f"limit.historyCount.suggestContinueAsNew={MOST_EVENTS}",
            "--db-filename", str(self.folder / "temporal.db"),
        )  # fmt: skip
        while True:
            with suppress(UsageError):
                return await connected(self.address, "default")
            assert self.server.returncode is None, (self.folder / "server.log").read_text(encoding="utf-8")
            await asyncio.sleep(0.1)

    async def start_worker(self, *words: str, parallel: int = 1) -> Process:
        worker = await self._started(
            f"worker-{len(self.workers)}.log", sys.executable, "-m", "donewhen", "fleet", "worker",
            "--temporal", self.address, "--parallel", str(parallel), "--state-dir", str(self.folder / "state"), *words,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    async def _started(self, log: str, *command: str) -> Process:
        with (self.folder / log).open("ab") as output:
            return await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output)

    async def close(self) -> None:
        for process in (*self.workers, self.server):
            if process is not None:
                await kill(process)


async def kill(process: Process) -> None:
    if process.returncode is None:
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()


@asynccontextmanager
async def rig(folder: Path) -> AsyncGenerator[Rig]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    first, second, third = (one.getsockname()[1] for one in sockets)
    for one in sockets:
        one.close()
    made = Rig(folder, (first, second, third))
    try:
        yield made
    finally:
        await made.close()

"""How long after its start `donewhen run` asks its model, by each way of calling one."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil

GOAL = "# Rounds\n\n- [ ] All rounds are done\n  - file: `log.txt`\n  - check: `test -e log.txt`\n"
ROUNDS = 5
WAYS = {
    "openai": ("openai/worker", "auto", "/v1"),
    "anthropic": ("anthropic/claude-sonnet-4-5", "auto", ""),
    "litellm": ("openai/worker", "litellm", "/v1"),
}


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[str, asyncio.Queue[float]]]:
    """An endpoint that notes when a request comes, and never answers."""
    came: asyncio.Queue[float] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            came.put_nowait(time.perf_counter())
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", came


def environ_of_a_user() -> dict[str, str]:
    """Where bytecode is kept from one start to the next, as in an installation."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


async def first_request(folder: Path, model: str, client: str, path: str) -> tuple[float, float]:
    """Seconds until the request comes, and seconds of CPU until then, children included."""
    async with listening() as (address, came):
        environment = {
            **environ_of_a_user(), "DONEWHEN_MODEL_CLIENT": client, "DONEWHEN_API_KEY": "none",
            "DONEWHEN_STATE_DIR": str(folder.parent / f"{folder.name}-s"),
        }  # fmt: skip
        command = [
            sys.executable, "-m", "donewhen", "run", "GOAL.md", "--worker", "agent", "--model", model,
            "--api-base", address + path, "--approve", "auto",
        ]  # fmt: skip
        begun = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            async with asyncio.timeout(60):
                seconds = await came.get() - begun
            cpu = 0.0
            me = psutil.Process(process.pid)
            for one in (me, *me.children(recursive=True)):
                times = one.cpu_times()
                cpu += times.user + times.system + (times.children_user + times.children_system if one == me else 0)
        finally:
            process.terminate()
            await process.wait()
    return seconds, cpu


def measure() -> dict[str, float]:
    """Medians: seconds until the first request, and of CPU until then, by each way in turns."""
    return asyncio.run(_measured())


async def _measured() -> dict[str, float]:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS + 1):
            for name, way in WAYS.items():
                workspace = Path(folder) / f"{name}{number}"
                workspace.mkdir()
                (workspace / "GOAL.md").write_text(GOAL, encoding="utf-8")
                one = await first_request(workspace, *way)
                if number:  # the first round compiles and fills caches
                    found[name].append(one)
    return {
        f"{name}: {what}": round(statistics.median(one[index] for one in rounds), 2)
        for name, rounds in found.items()
        for index, what in enumerate(("first request after s", "s of CPU until then"))
    }


if __name__ == "__main__":
    for what, value in measure().items():
        print(f"- {what}: {value}")

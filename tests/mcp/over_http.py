"""The MCP server over HTTP on loopback, for the protocol's own conformance package, which speaks nothing else.

`python -m tests.mcp.over_http WORKSPACE STATE` prints its address and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

from donewhen.app.services import Services
from donewhen.extras.mcp.server import Served, opened_server
from donewhen.settings.loading import load_settings


async def main(root: Path, state: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = load_settings({}, {}, root, user_file=state / "no")
    async with opened_server(Services(), Served(root, state, settings, True)) as server:
        serving = asyncio.ensure_future(server.run_streamable_http_async(port=port))
        while not await _answers(port) and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.05)
        print(f"http://127.0.0.1:{port}/mcp", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))

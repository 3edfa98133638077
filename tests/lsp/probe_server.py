"""The real server, with a few methods that misbehave on purpose; in the tests' process, or one of its own."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from lsprotocol import types

from donewhen.app.services import Services
from donewhen.lsp import features
from donewhen.lsp.host import Host
from donewhen.lsp.server import Connect, serve, serve_streams


async def _no_workspace(*_: object) -> Any:
    raise RuntimeError("the probe opens no workspace")


SERVICES = Services(open_runs=_no_workspace)


def register(connection: features.Connection) -> None:
    features.register(connection)
    server = connection.server
    notify = server.protocol.notify

    @server.feature("probe/slow")
    async def slow(_: Any) -> str:
        notify("probe/started", {})
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            notify("probe/cancelled", {})
            raise
        return "not cancelled"

    @server.feature("probe/fail")
    def fail(_: Any) -> None:
        raise ZeroDivisionError(f"a secret of {Path(__file__)}")

    @server.feature("probe/ask")
    async def ask(params: Any) -> Any:
        question = types.ShowMessageRequestParams(types.MessageType.Info, "?")
        method = types.WINDOW_SHOW_MESSAGE_REQUEST
        return await server.protocol.send_request_async(method, question, timeout=params["timeout"])

    @server.feature("probe/echo")
    def echo(params: Any) -> Any:
        return {"params": params}

    @server.feature("probe/print")
    def stray(_: Any) -> None:
        print("stray output")

    @server.feature("probe/unwritable")
    def unwritable(_: Any) -> Any:
        return {"it": object()}


async def probe(connect: Connect) -> int:
    return await serve_streams(Host(SERVICES), connect, register)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else None
    sys.exit(asyncio.run(serve(SERVICES, tcp_port=port, register=register)))

"""The real server, with a few methods that misbehave on purpose; run as a process by the hardening tests."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from donewhen.app.services import Services
from donewhen.lsp import registry
from donewhen.lsp.hardening import Route
from donewhen.lsp.server import serve
from donewhen.lsp.session import Session


async def _no_workspace(*_: object) -> Any:
    raise RuntimeError("the probe opens no workspace")


def probes(session: Session) -> dict[str, Route]:
    protocol = session.protocol

    async def slow(_: object) -> str:
        protocol.notify("probe/started", {})
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            protocol.notify("probe/cancelled", {})
            raise
        return "not cancelled"

    def fail(_: object) -> None:
        raise ZeroDivisionError(f"a secret of {Path(__file__)}")

    async def ask(params: Any) -> Any:
        return await protocol.ask("window/showMessageRequest", {"type": 3, "message": "?"}, timeout=params["timeout"])

    return registry.routes(session) | {
        "probe/slow": Route(slow, raw=True),
        "probe/fail": Route(fail, raw=True),
        "probe/ask": Route(ask, raw=True),
        "probe/echo": Route(lambda params: {"params": params}, raw=True),
        "probe/print": Route(lambda _: print("stray output"), raw=True),
        "probe/unwritable": Route(lambda _: {"it": object()}, raw=True),
    }


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else None
    services = Services(open_runs=_no_workspace)
    sys.exit(asyncio.run(serve(services, tcp_port=port, routes=probes)))

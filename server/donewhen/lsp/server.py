"""The language server: one conversation over standard streams, or one after the other over a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from donewhen.lsp import registry
from donewhen.lsp.hardening import Conversation, Route
from donewhen.lsp.host import Host
from donewhen.lsp.session import Session
from donewhen.lsp.transport import GREETING_SECONDS, Doorkeeper, Link, listen, own_stdio

if TYPE_CHECKING:
    from pathlib import Path

    from donewhen.app.services import Services

logger = logging.getLogger(__name__)

RouteTable = Callable[[Session], dict[str, Route]]


async def serve(
    services: Services,
    *,
    state_dir: Path | None = None,
    client_process_id: int | None = None,
    tcp_port: int | None = None,
    routes: RouteTable = registry.routes,
) -> int:
    """Serves until the client is gone (stdio) or the process is told to end (TCP). `state_dir` and `client_process_id`
    are what the command line says of them; a client may name its own.

    Returns the exit code: 0 after `shutdown`, 1 where the client left without it.
    """
    _log_to_stderr()
    host = Host(services, state_dir, client_process_id)
    stop = _stop_signal()
    try:
        if tcp_port is None:
            return await _serve_stdio(host, routes, stop)
        return await _serve_tcp(host, routes, stop, tcp_port)
    finally:
        await host.close("the language server ended")


async def _serve_stdio(host: Host, routes: RouteTable, stop: asyncio.Future[None]) -> int:
    talk = asyncio.ensure_future(converse(own_stdio(), host, routes))
    await asyncio.wait((talk, stop), return_when=asyncio.FIRST_COMPLETED)
    if talk.done():
        return talk.result()
    talk.cancel()
    return 1


async def _serve_tcp(host: Host, routes: RouteTable, stop: asyncio.Future[None], port: int) -> int:
    doorkeeper = Doorkeeper()

    async def talk(link: Link) -> None:
        await converse(link, host, routes, doorkeeper)

    server = await listen(port, doorkeeper, talk)
    await stop
    server.close()
    return 0


async def converse(link: Link, host: Host, routes: RouteTable, doorkeeper: Doorkeeper | None = None) -> int:
    """One conversation, until the client says `exit` or is gone; returns the exit code."""
    protocol = Conversation(link)
    session = Session(protocol, host, registry.make_showing, doorkeeper)
    protocol.routes = routes(session)
    link.start(protocol.receive, protocol.lost)
    if doorkeeper is not None:
        asyncio.get_running_loop().call_later(GREETING_SECONDS, protocol.expect_greeting)
    try:
        code = await asyncio.shield(protocol.exit_code)
        await session.leave("the editor is gone")
        return code
    finally:
        await link.close()


def _stop_signal() -> asyncio.Future[None]:
    """Done once the process is told to end, on platforms where a loop can hear that."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()

    def heard() -> None:
        if not stop.done():
            stop.set_result(None)

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if (number := getattr(signal, name, None)) is not None:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, heard)
    return stop


def _log_to_stderr() -> None:
    """Messages for people go to stderr; a closed stderr is nobody's problem."""
    logging.raiseExceptions = False
    if not logging.getLogger().handlers:
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")

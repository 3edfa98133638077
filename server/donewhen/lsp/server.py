"""The language server: pygls over standard streams, or for one client after another over a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from donewhen.lsp import features
from donewhen.lsp.host import Host
from donewhen.lsp.protocol import Server
from donewhen.lsp.transport import Reader, TokenGuard, Writer, listen, stdio

if TYPE_CHECKING:
    from pathlib import Path

    from donewhen.app.services import Services

GREETING_SECONDS = 10.0
MOST_DESCRIPTORS = 10_240
"""Enough for a thousand folders. macOS allows no more, and what checks start inherits it: some old programs close every
descriptor that they may have, one by one."""


class NothingSaid(Exception):
    """The input ended without one message of the protocol: it is no editor's."""


Register = Callable[[features.Connection], None]
Connect = Callable[[Callable[[], None]], tuple[Reader, Writer]]
"""Opens a client's streams, which call the function once nobody reads any more."""


async def serve(
    services: Services,
    *,
    state_dir: Path | None = None,
    client_process_id: int | None = None,
    tcp_port: int | None = None,
    register: Register = features.register,
) -> int:
    """Serves until the client is gone (stdio) or the process is asked to end (TCP). `state_dir` and `client_process_id`
    come from the command line; a client may name its own.

    Returns the exit code: 0 after `shutdown`, 1 if the client left without it. Raises NothingSaid (stdio).
    """
    # Messages for people go to stderr; a closed stderr is not an error.
    logging.raiseExceptions = False
    if not logging.getLogger().handlers:
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    _raise_descriptor_limit()
    host = Host(services, state_dir, client_process_id)
    stop = _stop_signal()
    if tcp_port is not None:
        return await _serve_tcp(host, register, stop, tcp_port)
    serving = asyncio.ensure_future(serve_streams(host, stdio, register))
    await asyncio.wait((serving, stop), return_when=asyncio.FIRST_COMPLETED)
    if not serving.done():
        serving.cancel()
        await asyncio.wait((serving,))
    return 1 if serving.cancelled() else serving.result()


async def serve_streams(host: Host, connect: Connect, register: Register = features.register) -> int:
    """Serves one client, whose runs end with it; returns the exit code. Raises NothingSaid."""
    connection = features.Connection(Server(), host)
    try:
        code = await _serve_one(connection, register, *connect(connection.server.shutdown))
    finally:
        await host.close("the language server ended")
    if not connection.server.protocol.spoken_to:
        raise NothingSaid
    return code


async def _serve_one(connection: features.Connection, register: Register, reader: Reader, writer: Writer) -> int:
    """Serves until the client says `exit` or is gone; returns the exit code."""
    server = connection.server
    register(connection)

    def expect_greeting() -> None:
        if not server.protocol.initialized:
            server.shutdown()

    if connection.guard is not None:
        # Whoever connects and says nothing would keep the others out.
        asyncio.get_running_loop().call_later(GREETING_SECONDS, expect_greeting)
    try:
        await server.read(reader, writer)
        await connection.disconnect("the editor is gone")
        return server.protocol.exit_code
    finally:
        await writer.close()


async def _serve_tcp(host: Host, register: Register, stop: asyncio.Future[None], port: int) -> int:
    """Serves one client after another; runs outlive them."""
    guard = TokenGuard()

    async def one_client(reader: Reader, writer: Writer) -> None:
        await _serve_one(features.Connection(Server(), host, guard), register, reader, writer)

    try:
        listening = await listen(port, guard, one_client)
        await stop
        listening.close()
        return 0
    finally:
        await host.close("the language server ended")


def _stop_signal() -> asyncio.Future[None]:
    """Done once the process is asked to end, on platforms whose event loops support such signals."""
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


def _raise_descriptor_limit() -> None:
    """An open folder takes nine descriptors, and some systems begin with 256 for a process that may have more."""
    if sys.platform != "win32":
        import resource  # exists only there

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with contextlib.suppress(OSError, ValueError):  # what there is has to do
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

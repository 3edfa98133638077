"""The language server: pygls over standard streams, or for one client after the other over a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Any, cast

from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

from donewhen.lsp import features
from donewhen.lsp.converter import strict_converter
from donewhen.lsp.host import Host
from donewhen.lsp.protocol import Protocol
from donewhen.lsp.session import Session
from donewhen.lsp.transport import BrokenFrame, Reader, TokenGuard, Writer, listen, stdio
from donewhen.version import __version__

if TYPE_CHECKING:
    from pygls.server import ServerErrors

    from donewhen.lsp.documents import OpenDocuments
    from donewhen.lsp.services import LspServices

logger = logging.getLogger(__name__)

GREETING_SECONDS = 10.0


class Server(LanguageServer):
    """The server of one client."""

    protocol: Protocol  # pyright: ignore[reportIncompatibleVariableOverride]  # set once, in __init__

    def __init__(self, host: Host, guard: TokenGuard | None = None) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls annotates it in part
            "donewhen", __version__, protocol_cls=Protocol, converter_factory=strict_converter
        )
        self.session = Session(self, host, features.make_showing, guard)
        self._over = asyncio.Event()

    @property
    def workspace(self) -> OpenDocuments:
        return cast("OpenDocuments", super().workspace)

    async def converse(self, reader: Reader, writer: Writer) -> int:
        """Serves until the client says `exit` or is gone; returns the exit code."""
        self.protocol.set_writer(cast("Any", writer))
        if self.session.guard is not None:
            asyncio.get_running_loop().call_later(GREETING_SECONDS, self._expect_greeting)
        reading, over = (asyncio.ensure_future(work) for work in (self._read(reader), self._over.wait()))
        try:
            await asyncio.wait((reading, over), return_when=asyncio.FIRST_COMPLETED)
            self.protocol.lost()
            await self.session.leave("the editor is gone")
            return self.protocol.exit_code
        finally:
            reading.cancel()
            over.cancel()
            await writer.close()

    async def _read(self, reader: Reader) -> None:
        try:
            await run_async(Event(), cast("Any", reader), self.protocol, logger, self.protocol.refuse_unreadable)
        except BrokenFrame as problem:
            logger.error("the client's input is not an LSP message: %s", problem)

    def _expect_greeting(self) -> None:
        """Ends the session where nobody introduced themselves."""
        if not self.protocol.initialized:
            self.shutdown()

    def shutdown(self) -> None:
        """Ends the session: pygls would read until the next message comes."""
        self._over.set()

    def report_server_error(self, error: Exception, source: ServerErrors) -> None:
        """To the log: pygls opens a message in the editor."""
        logger.warning("%s", error)


Register = Callable[[Server], None]
Connect = Callable[[Callable[[], None]], tuple[Reader, Writer]]
"""Opens the streams of a client, which call the function once nobody reads any more."""


async def serve(services: LspServices, *, tcp_port: int | None = None, register: Register = features.register) -> int:
    """Serves until the client is gone (stdio) or the process is told to end (TCP).

    Returns the exit code: 0 after `shutdown`, 1 where the client left without it.
    """
    _log_to_stderr()
    stop = _stop_signal()
    if tcp_port is not None:
        return await _serve_tcp(services, register, stop, tcp_port)
    serving = asyncio.ensure_future(serve_streams(services, stdio, register))
    await asyncio.wait((serving, stop), return_when=asyncio.FIRST_COMPLETED)
    if not serving.done():
        serving.cancel()
        await asyncio.wait((serving,))
    return 1 if serving.cancelled() else serving.result()


async def serve_streams(services: LspServices, connect: Connect, register: Register = features.register) -> int:
    """Serves one client, whose runs end with it; returns the exit code."""
    host = Host(services)
    server = Server(host)
    register(server)
    try:
        return await server.converse(*connect(server.shutdown))
    finally:
        await host.close("the language server ended")


async def _serve_tcp(services: LspServices, register: Register, stop: asyncio.Future[None], port: int) -> int:
    """One client after the other; runs outlive them."""
    host, guard = Host(services), TokenGuard()

    async def one_client(reader: Reader, writer: Writer) -> None:
        server = Server(host, guard)
        register(server)
        await server.converse(reader, writer)

    try:
        listening = await listen(port, guard, one_client)
        await stop
        listening.close()
        return 0
    finally:
        await host.close("the language server ended")


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

"""How messages travel: standard streams, or one client at a time on a loopback port.

The standard streams are read and written by one thread each, because no event loop can wait for a pipe, a file and a
console alike on every platform. The threads touch nothing but their descriptor, their queue and the loop's
thread-safe entry; neither shares a pool with any other work.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import queue
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Protocol

from donewhen.lsp.framing import BrokenFrame, FrameReader, frame

logger = logging.getLogger(__name__)

CHUNK = 64 * 1024
MAX_QUEUED = 128 * 1024 * 1024
LOOPBACK = "127.0.0.1"
GREETING_SECONDS = 10.0
RECONNECT_SECONDS = 0.5


class Link(Protocol):
    """A connection to one client."""

    def start(self, receive: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """Begins to deliver message bodies; `ended` is called once, when the client is gone."""
        ...

    def send(self, body: bytes) -> None:
        """Queues a message; never blocks and never raises, also when the client is gone."""
        ...

    async def close(self) -> None:
        """Sends what is queued, as far as the client takes it, and ends the connection."""
        ...


class StdioLink:
    """The standard streams of this process."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queued = 0
        self._broken = False
        self._drained = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._ended: Callable[[], None] | None = None

    def start(self, receive: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._ended = ended
        threading.Thread(target=self._read, args=(receive,), name="stdin", daemon=True).start()
        threading.Thread(target=self._write, name="stdout", daemon=True).start()

    def send(self, body: bytes) -> None:
        if self._broken:
            return
        self._queued += len(body)
        if self._queued > MAX_QUEUED:
            logger.error("the client stopped reading; the connection is given up")
            self._broken = True
            self._lost()
            return
        self._queue.put(frame(body))

    async def close(self) -> None:
        self._queue.put(None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._drained.wait()

    def _lost(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()

    def _on_loop(self, callback: Callable[..., None], *arguments: object) -> bool:
        """Hands over to the loop's thread; false when the loop has ended."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            return False
        return True

    def _read(self, receive: Callable[[bytes], None]) -> None:
        """Runs in the thread `stdin`: nothing but this thread reads the descriptor."""
        reader = FrameReader()
        try:
            while data := os.read(self._read_fd, CHUNK):
                if not all(self._on_loop(receive, body) for body in reader.feed(data)):
                    return
        except BrokenFrame as problem:
            logger.error("the client's input is not an LSP message: %s", problem)
        except OSError:
            logger.info("the client's input broke")
        finally:
            self._on_loop(self._lost)

    def _write(self) -> None:
        """Runs in the thread `stdout`: nothing but this thread writes the descriptor."""
        while (data := self._queue.get()) is not None:
            try:
                _write_all(self._write_fd, data)
            except OSError:
                self._broken = True
                self._on_loop(self._lost)
                break
            self._on_loop(self._sent, len(data))
        self._on_loop(self._drained.set)

    def _sent(self, size: int) -> None:
        self._queued = max(0, self._queued - size)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def own_stdio() -> StdioLink:
    """Takes the standard streams for the protocol alone.

    Whatever else reads or writes them afterwards, a library or a child process, gets an empty input, and has its
    output sent to stderr: it can't corrupt the protocol.
    """
    read_fd, write_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    # A pipe would keep stray output in its buffer until the server ends.
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), line_buffering=True)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(read_fd, os.O_BINARY)
        msvcrt.setmode(write_fd, os.O_BINARY)
    return StdioLink(read_fd, write_fd)


class TcpLink:
    """One accepted connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._task: asyncio.Task[None] | None = None

    def start(self, receive: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._read(receive, ended))

    def send(self, body: bytes) -> None:
        if self._writer.is_closing():
            return
        if self._writer.transport.get_write_buffer_size() > MAX_QUEUED:
            logger.error("the client stopped reading; the connection is given up")
            self._writer.transport.abort()
            return
        self._writer.write(frame(body))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()

    async def _read(self, receive: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        frames = FrameReader(strict=True)
        try:
            while data := await self._reader.read(CHUNK):
                for body in frames.feed(data):
                    receive(body)
        except BrokenFrame as problem:
            logger.warning("a connection was dropped: %s", problem)
        except OSError:
            logger.info("the connection to the client broke")
        finally:
            ended()


class Doorkeeper:
    """The one-time secret that a TCP client must show; printed on stderr, never stored."""

    def __init__(self) -> None:
        import secrets  # lazy: only TCP needs it

        self.token = secrets.token_urlsafe(32)

    def admits(self, shown: object) -> bool:
        import hmac  # lazy: only TCP needs it

        return isinstance(shown, str) and hmac.compare_digest(shown.encode(), self.token.encode())


Converse = Callable[[Link], Awaitable[object]]


async def listen(port: int, doorkeeper: Doorkeeper, converse: Converse) -> asyncio.Server:
    """Listens on loopback and holds one conversation at a time; a second client is turned away."""
    free = asyncio.Event()
    free.set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client that reconnects may come before the end of its last connection was noticed.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECONNECT_SECONDS):
                await free.wait()
        if not free.is_set():
            logger.warning("a second client was turned away: one is connected")
            writer.close()
            return
        free.clear()
        try:
            await converse(TcpLink(reader, writer))
        finally:
            free.set()

    server = await asyncio.start_server(accept, LOOPBACK, port)
    actual = server.sockets[0].getsockname()[1]
    print(f"listening on {LOOPBACK}:{actual} token {doorkeeper.token}", file=sys.stderr, flush=True)
    return server

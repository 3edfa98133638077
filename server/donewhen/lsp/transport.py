"""How messages travel: standard streams, or one client at a time on a loopback port.

The standard streams have one thread each for reading and writing, because no event loop can wait for a pipe, a file and
a console alike on every platform. The threads touch only their descriptor, their queue and the loop's thread-safe
entry; neither shares a pool with any other work.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import queue
import secrets
import sys
import threading
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

CHUNK = 64 * 1024
MAX_HEADER = 8 * 1024
MAX_BODY = 256 * 1024 * 1024
MAX_QUEUED = 128 * 1024 * 1024
MAX_DIGITS = 20
KNOWN_HEADERS = frozenset({b"content-length", b"content-type"})
LOOPBACK = "127.0.0.1"
RECONNECT_SECONDS = 0.5


class BrokenFrame(Exception):
    """The bytes are not an LSP message; nothing after them can be understood."""


class Reader:
    """A client's messages. pygls' own loop knows one spelling of the header, and no limits: other headers, other cases
    and bare newlines, which LSP allows or clients send, are read here. `strict` refuses every header but Content-Length
    and Content-Type as soon as its line is complete: what a browser sends to a loopback port is never taken for a
    message."""

    def __init__(self, stream: asyncio.StreamReader, *, strict: bool = False) -> None:
        self._stream = stream
        self._strict = strict

    async def body(self) -> bytes | None:
        """The body of the next message; None at the end of input, or if that comes within it. Raises BrokenFrame."""
        length: int | None = None
        while line := await self._read_header_line():
            if text := line.rstrip(b"\r\n"):
                length = self._content_length(text, length)
            elif length is not None:
                with contextlib.suppress(asyncio.IncompleteReadError):
                    return await self._stream.readexactly(length)
                return None
            elif self._strict:
                raise BrokenFrame("no Content-Length header")
        return None

    async def _read_header_line(self) -> bytes:
        try:
            return await self._stream.readline()
        except ValueError:
            raise BrokenFrame("a header line is too long") from None
        except OSError:
            logger.info("the client's input broke")
            return b""

    def _content_length(self, line: bytes, known: int | None) -> int | None:
        name, colon, value = line.partition(b":")
        name = name.strip().lower()
        if self._strict and (not colon or name not in KNOWN_HEADERS):
            raise BrokenFrame("a header that no language client sends")
        if name != b"content-length":
            return known
        text = value.strip()
        # Python itself refuses to read numbers of thousands of digits.
        if not text.isdigit() or len(text) > MAX_DIGITS or int(text) > MAX_BODY:
            raise BrokenFrame("Content-Length is not a usable number")
        return int(text)


class StdoutWriter:
    """Standard output, written by a thread. `lost` is called on the loop, once, when nobody reads any more."""

    def __init__(self, fd: int, lost: Callable[[], None]) -> None:
        self._fd = fd
        self._lost = lost
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queued = 0
        self._broken = False
        self._drained = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._write_queued, name="stdout", daemon=True).start()

    def write(self, data: bytes) -> None:
        if self._broken:
            return
        self._queued += len(data)
        if self._queued > MAX_QUEUED:
            logger.error("the client stopped reading; the connection is given up")
            self._break()
            return
        self._queue.put(data)

    async def close(self) -> None:
        self._queue.put(None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._drained.wait()

    def _break(self) -> None:
        if not self._broken:
            self._broken = True
            self._lost()

    def _write_queued(self) -> None:
        """Runs in the thread `stdout`: only this thread writes to the descriptor."""
        while (data := self._queue.get()) is not None:
            left = memoryview(data)
            try:
                while left:
                    left = left[os.write(self._fd, left) :]
            except OSError:
                on_loop(self._loop, self._break)
                break
            on_loop(self._loop, self._sent, len(data))
        on_loop(self._loop, self._drained.set)

    def _sent(self, size: int) -> None:
        self._queued = max(0, self._queued - size)


def on_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *arguments: object) -> bool:
    """Calls back in the loop's thread; false if the loop has ended."""
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:
        return False
    return True


def stdio(lost: Callable[[], None]) -> tuple[Reader, StdoutWriter]:
    """Reserves the standard streams for the protocol.

    Whatever else reads or writes them afterwards, a library or a child process, gets an empty input, and its output
    goes to stderr: it can't corrupt the protocol.
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
    stream, loop = asyncio.StreamReader(MAX_HEADER), asyncio.get_running_loop()
    threading.Thread(target=_feed_input, args=(read_fd, stream, loop), name="stdin", daemon=True).start()
    return Reader(stream), StdoutWriter(write_fd, lost)


def _feed_input(fd: int, stream: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    """Runs in the thread `stdin`: only this thread reads from the descriptor."""
    try:
        while data := os.read(fd, CHUNK):
            if not on_loop(loop, stream.feed_data, data):
                return
    except OSError:
        logger.info("the client's input broke")
    finally:
        on_loop(loop, stream.feed_eof)


class TcpWriter:
    """The output of one accepted connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        if self._writer.is_closing():
            return
        if self._writer.transport.get_write_buffer_size() > MAX_QUEUED:
            logger.error("the client stopped reading; the connection is given up")
            self._writer.transport.abort()
            return
        self._writer.write(data)

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()


class TokenGuard:
    """The one-time secret that a TCP client must present; printed on stderr, never stored."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)

    def admits(self, shown: object) -> bool:
        return isinstance(shown, str) and secrets.compare_digest(shown.encode(), self.token.encode())


Writer = StdoutWriter | TcpWriter
"""Where a server writes: pygls calls `write` with whole messages, which never blocks and never raises, even if the
client is gone; `close` sends what is queued, as far as the client reads it, and ends the connection."""
Serve = Callable[[Reader, Writer], Awaitable[object]]


async def listen(port: int, guard: TokenGuard, serve: Serve) -> asyncio.Server:
    """Listens on loopback and serves one client at a time; a second client is refused."""
    free = asyncio.Event()
    free.set()

    async def accept(stream: asyncio.StreamReader, output: asyncio.StreamWriter) -> None:
        # A client may reconnect before the end of its last connection is noticed.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECONNECT_SECONDS):
                await free.wait()
        if not free.is_set():
            logger.warning("a second client was turned away: one is connected")
            output.close()
            return
        free.clear()
        try:
            await serve(Reader(stream, strict=True), TcpWriter(output))
        finally:
            free.set()

    server = await asyncio.start_server(accept, LOOPBACK, port, limit=MAX_HEADER)
    actual = server.sockets[0].getsockname()[1]
    print(f"listening on {LOOPBACK}:{actual} token {guard.token}", file=sys.stderr, flush=True)
    return server

"""A strict language client that speaks raw JSON-RPC to a server: every message must be read by the test.

The server is a process of its own (`Process`), or runs in this one, on a thread and a loop of its own, and talks
through streams in memory (`InProcess`). A test says nothing about it, unless it is about processes, standard streams,
signals or what a kill leaves; those take fixtures and commands that start a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from donewhen.lsp.server import Connect
from donewhen.lsp.transport import MAX_HEADER, Reader
from tests import forked

DEADLINE = 60.0
Message = dict[str, Any]


class Gone(Exception):
    """The server closed its output."""


class Connection(Protocol):
    """A server that runs, as its client sees it."""

    def write(self, data: bytes) -> None: ...

    def readline(self) -> bytes:
        """Like `read`, it waits, and is empty once the server has closed its output."""
        ...

    def read(self, size: int) -> bytes: ...

    def end_input(self) -> None: ...

    @property
    def stderr(self) -> str:
        """What was logged so far."""
        ...

    def wait_exit(self, timeout: float) -> int: ...

    def close(self) -> None:
        """Ends the server, however it is."""
        ...


class Process:
    """A server process. What is about its streams as Python opens and closes them is no fork."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        forks: bool = True,
    ) -> None:
        self.popen = (forked.start if forks else subprocess.Popen)(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
            env={**os.environ, **(env or {})},
        )  # fmt: skip
        self._stderr: list[bytes] = []
        self._draining = threading.Thread(target=self._drain, daemon=True)
        self._draining.start()

    def write(self, data: bytes) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(data)
        self.popen.stdin.flush()

    def readline(self) -> bytes:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline()

    def read(self, size: int) -> bytes:
        assert self.popen.stdout is not None
        return self.popen.stdout.read(size)

    def end_input(self) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.close()

    @property
    def stderr(self) -> str:
        return b"".join(self._stderr).decode(errors="replace")

    def wait_exit(self, timeout: float) -> int:
        code = self.popen.wait(timeout)
        self._draining.join(timeout)
        return code

    def close(self) -> None:
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
            self.popen.wait(DEADLINE)
        self._draining.join(DEADLINE)

    def close_pipes(self) -> None:
        for stream in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _drain(self) -> None:
        stream = self.popen.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while data := stream.read1(65536):  # pyright: ignore[reportAttributeAccessIssue]
                self._stderr.append(data)


Serve = Callable[[Connect], Awaitable[int]]
"""`serve_streams` of the server, with everything but the streams."""


class InProcess:
    """A server on a thread and a loop of its own, over streams in memory; its log is kept instead of stderr."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._output: queue.Queue[bytes] = queue.Queue()
        self._rest = b""
        self._log: list[str] = []
        self._code: int | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="server", daemon=True)
        self._thread.start()
        self._ready.wait(DEADLINE)

    async def _run(self) -> None:
        self._loop, self._stream = asyncio.get_running_loop(), asyncio.StreamReader(MAX_HEADER)
        handler = _Kept(self._log, threading.current_thread())
        logging.getLogger().addHandler(handler)
        self._task = asyncio.ensure_future(self._serve(lambda _: (Reader(self._stream), _Output(self._output))))
        self._ready.set()
        try:
            with contextlib.suppress(asyncio.CancelledError):  # `close`
                self._code = await self._task
        finally:
            logging.getLogger().removeHandler(handler)
            self._output.put(b"")

    def write(self, data: bytes) -> None:
        self._on_loop(self._stream.feed_data, data)

    def readline(self) -> bytes:
        while (end := self._rest.find(b"\n")) < 0 and self._more():
            pass
        return self.read(end + 1 if end >= 0 else len(self._rest))

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and self._more():
            pass
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def end_input(self) -> None:
        self._on_loop(self._stream.feed_eof)

    @property
    def stderr(self) -> str:
        return "\n".join(self._log)

    def wait_exit(self, timeout: float) -> int:
        self._thread.join(timeout)
        assert self._code is not None, "the server goes on, or failed"
        return self._code

    def close(self) -> None:
        self._on_loop(self._task.cancel)
        self._thread.join(DEADLINE)

    def _more(self) -> bool:
        data = self._output.get()
        self._rest += data
        if not data:
            self._output.put(b"")  # for whoever asks again
        return bool(data)

    def _on_loop(self, act: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(act, *arguments)


class _Output:
    def __init__(self, output: queue.Queue[bytes]) -> None:
        self._output = output

    def write(self, data: bytes) -> None:
        self._output.put(data)

    async def close(self) -> None:
        return None


class _Kept(logging.Handler):
    """Keeps what the server's own thread logs, as stderr would show it."""

    def __init__(self, lines: list[str], thread: threading.Thread) -> None:
        super().__init__(logging.WARNING)
        self._lines, self._thread = lines, thread

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread.ident:
            self._lines.append(self.format(record))


class RawClient:
    """A client and what its server said. `goodbye` fails on messages that nobody read, but for those of `ignored`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ignored: set[str] = set()
        self.inbox: list[Message] = []
        self._arrivals: queue.Queue[Message | None] = queue.Queue()
        self._next = 0
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """For tests that are about the process; only where there is one."""
        assert isinstance(self.connection, Process)
        return self.connection.popen

    # ---------------------------------------------------------------------------------- sending

    def send_bytes(self, data: bytes) -> None:
        self.connection.write(data)

    def send(self, message: object) -> None:
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: object = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params}))

    def begin(self, method: str, params: object = None) -> int:
        """Sends a request and returns its id, without waiting."""
        self._next += 1
        message: Message = {"jsonrpc": "2.0", "id": self._next, "method": method}
        self.send(message | ({} if params is None else {"params": params}))
        return self._next

    def reply(self, request: Message, result: object) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    # -------------------------------------------------------------------------------- receiving

    def response(self, number: int | str | None, timeout: float = DEADLINE) -> Message:
        return self.wait_for(lambda m: "method" not in m and m.get("id") == number, timeout)

    def request(self, method: str, params: object = None, timeout: float = DEADLINE) -> Message:
        return self.response(self.begin(method, params), timeout)

    def result(self, method: str, params: object = None, timeout: float = DEADLINE) -> Any:
        answer = self.request(method, params, timeout)
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, params: object = None, timeout: float = DEADLINE) -> Message:
        answer = self.request(method, params, timeout)
        assert "error" in answer, answer
        return answer["error"]

    def expect(self, method: str, timeout: float = DEADLINE) -> Message:
        """The next notification or request of the server with this method."""
        return self.wait_for(lambda m: m.get("method") == method, timeout)

    def wait_for(self, wanted: Callable[[Message], bool], timeout: float = DEADLINE) -> Message:
        deadline = time.monotonic() + timeout
        while True:
            for index, message in enumerate(self.inbox):
                if wanted(message):
                    return self.inbox.pop(index)
            self._receive(deadline)

    def _receive(self, deadline: float) -> None:
        try:
            message = self._arrivals.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise AssertionError(f"not received in time; unread: {self.inbox}\n{self.stderr}") from None
        if message is None:
            self._arrivals.put(None)
            raise Gone(f"the server has gone; unread: {self.inbox}\n{self.stderr}")
        self.inbox.append(message)

    def unread(self) -> list[Message]:
        """What came and was not read, without waiting for more."""
        with contextlib.suppress(queue.Empty):
            while (message := self._arrivals.get_nowait()) is not None:
                self.inbox.append(message)
        return [m for m in self.inbox if m.get("method") not in self.ignored]

    def wait_for_stderr(self, text: str, timeout: float = DEADLINE) -> None:
        deadline = time.monotonic() + timeout
        while text not in self.stderr:
            assert time.monotonic() < deadline, f"{text!r} not in stderr:\n{self.stderr}"
            time.sleep(0.005)

    @property
    def stderr(self) -> str:
        return self.connection.stderr

    # ------------------------------------------------------------------------------ conversation

    def initialize(self, **params: Any) -> Any:
        base: Message = {"processId": None, "rootUri": None, "capabilities": {}}
        result = self.result("initialize", base | params)
        self.notify("initialized", {})
        return result

    def execute(self, command: str, argument: object, timeout: float = DEADLINE) -> Any:
        return self.result("workspace/executeCommand", {"command": command, "arguments": [argument]}, timeout)

    def execute_error(self, command: str, argument: object) -> Message:
        return self.error("workspace/executeCommand", {"command": command, "arguments": [argument]})

    def goodbye(self) -> int:
        """Shutdown and exit; the exit code. Fails on unread messages."""
        assert self.result("shutdown") is None
        self.notify("exit")
        code = self.wait_exit()
        assert not self.unread(), f"unread: {self.unread()}"
        return code

    def wait_exit(self, timeout: float = DEADLINE) -> int:
        code = self.connection.wait_exit(timeout)
        self._reading.join(DEADLINE)
        return code

    def close(self) -> None:
        self.connection.close()
        self._reading.join(DEADLINE)
        if isinstance(self.connection, Process):
            self.connection.close_pipes()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (message := read_message(self.connection.readline, self.connection.read)) is not None:
                self._arrivals.put(message)
        self._arrivals.put(None)


def read_message(readline: Callable[[], bytes], read: Callable[[int], bytes]) -> Message | None:
    """One message; None at the end. Anything else on the stream than LSP fails the test that reads it."""
    length = None
    while line := readline():
        if line == b"\r\n":
            assert length is not None
            return json.loads(read(length))
        name, _, value = line.partition(b":")
        assert name.lower() in (b"content-length", b"content-type"), f"not LSP: {line!r}"
        if name.lower() == b"content-length":
            length = int(value)
    return None

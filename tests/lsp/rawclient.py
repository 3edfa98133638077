"""A strict language client that speaks raw JSON-RPC to a real process: every message must be read by the test."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

DEADLINE = 45.0
Message = dict[str, Any]


class Gone(Exception):
    """The server closed its output."""


class RawClient:
    """One server process and what it said. `close` fails on messages that nobody read, but for those of `ignored`."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
            env={**os.environ, **(env or {})},
        )  # fmt: skip
        self.ignored: set[str] = set()
        self.inbox: list[Message] = []
        self._arrivals: queue.Queue[Message | None] = queue.Queue()
        self._next = 0
        self._stderr: list[bytes] = []
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._read, self._drain)]
        for thread in self._threads:
            thread.start()

    # ---------------------------------------------------------------------------------- sending

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

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
        return b"".join(self._stderr).decode(errors="replace")

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
        code = self.process.wait(timeout)
        for thread in self._threads:
            thread.join(DEADLINE)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
            self.process.wait(DEADLINE)
        for thread in self._threads:
            thread.join(DEADLINE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while (message := read_message(stream.readline, stream.read)) is not None:
                self._arrivals.put(message)
        self._arrivals.put(None)

    def _drain(self) -> None:
        stream = self.process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while data := stream.read1(65536):  # pyright: ignore[reportAttributeAccessIssue]
                self._stderr.append(data)


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

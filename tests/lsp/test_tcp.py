"""`--tcp`: loopback, a token, one client at a time, and nothing that a browser could send."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests import forked

from .conftest import PROBE
from .rawclient import read_message


class Listening:
    """A server that listens, and what it printed."""

    def __init__(self) -> None:
        self.process = forked.start([sys.executable, str(PROBE), "0"], stderr=subprocess.PIPE, stdin=subprocess.PIPE)
        assert self.process.stderr is not None
        line = self.process.stderr.readline().decode()
        found = re.search(r"(127\.0\.0\.1):(\d+) token (\S{40,})", line)
        assert found, line
        self.address, self.token = (found[1], int(found[2])), found[3]

    def connect(self) -> socket.socket:
        connection = socket.create_connection(self.address, timeout=60)
        connection.settimeout(10)
        return connection


@pytest.fixture(scope="module")
def server() -> Iterator[Listening]:
    listening = Listening()
    yield listening
    listening.process.terminate()
    assert listening.process.wait(60) == 0
    for stream in (listening.process.stderr, listening.process.stdin):
        assert stream is not None
        stream.close()


def framed(method: str, params: Any, number: int | None = 1) -> bytes:
    known = {} if number is None else {"id": number}
    body = json.dumps({"jsonrpc": "2.0", **known, "method": method, "params": params}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def ask(connection: socket.socket, method: str, params: Any = None) -> Any:
    connection.sendall(framed(method, params))
    with connection.makefile("rb") as stream:
        return read_message(stream.readline, stream.read)


def shown(token: object) -> dict[str, Any]:
    return {"capabilities": {}, "initializationOptions": {"token": token}}


def initialize(connection: socket.socket, token: object) -> Any:
    return ask(connection, "initialize", shown(token))


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1000) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\n",
        b"Content-Length: 2\r\nOrigin: http://evil\r\n\r\n{}",
        b"Host: x\r\n",
        b"\r\n",
        b"x" * 20_000,
        b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n",
    ],
)
def test_what_a_browser_could_send_is_dropped_at_once(server: Listening, sent: bytes) -> None:
    with server.connect() as connection:
        connection.sendall(sent)
        assert ended(connection)
    with server.connect() as connection:
        assert "result" in initialize(connection, server.token)


@pytest.mark.parametrize("token", [None, "", "wrong", 7, "ü"])
def test_without_the_token_nothing_is_served(server: Listening, token: object) -> None:
    with server.connect() as connection:
        assert initialize(connection, token)["error"]["code"] == -32600
        assert ended(connection)


def test_what_comes_at_the_heels_of_a_wrong_token_is_not_served(server: Listening) -> None:
    status = {"command": "donewhen.run.status", "arguments": [{}]}
    opened = {"textDocument": {"uri": "file:///a", "languageId": "x", "version": 1, "text": ""}}
    with server.connect() as first:
        assert "result" in initialize(first, server.token)
        # Everything is imported from here on, so that there is time for an answer before the connection is closed.
        assert "result" in ask(first, "workspace/executeCommand", status)
    with server.connect() as second:
        asked = [framed("workspace/executeCommand", status, number) for number in (2, 3)]
        told = framed("textDocument/didOpen", opened, None)
        asked = [framed("shutdown", None, 4), told, *asked, framed("shutdown", None, 5)]
        second.sendall(b"".join([framed("initialize", shown("wrong")), *asked]))
        with second.makefile("rb") as stream:
            answers = [read_message(stream.readline, stream.read) for _ in range(5)]
    refused = {1: -32600, **dict.fromkeys((2, 3, 4, 5), -32002)}
    assert {one["id"]: one["error"]["code"] for one in answers} == refused
    with server.connect() as third:
        assert "result" in initialize(third, server.token)


def test_a_second_client_is_turned_away_and_the_next_one_served(server: Listening) -> None:
    with server.connect() as first:
        assert "result" in initialize(first, server.token)
        with server.connect() as second:
            assert ended(second)
        assert ask(first, "probe/echo", [1])["result"] == {"params": [1]}
    with server.connect() as third:
        answer = initialize(third, server.token)
        assert "result" in answer
    assert server.process.poll() is None

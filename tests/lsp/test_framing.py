"""Bytes to messages, however they are cut; and that every request is answered exactly once, whatever it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.lsp.protocol import Server
from donewhen.lsp.transport import MAX_HEADER, BrokenFrame, Reader
from tests.tools import examples


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def bodies_of(pieces: Iterable[bytes], *, strict: bool = False) -> list[bytes]:
    stream = asyncio.StreamReader(MAX_HEADER)
    reader, found = Reader(stream, strict=strict), list[bytes]()

    async def feed() -> None:
        for piece in pieces:
            stream.feed_data(piece)
            await asyncio.sleep(0)
        stream.feed_eof()

    async with asyncio.TaskGroup() as group:
        group.create_task(feed())
        while (body := await reader.body()) is not None:
            found.append(body)
    return found


@examples(60)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.data())
def test_bodies_come_out_as_they_went_in_however_the_stream_is_cut(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(frame(body) for body in bodies)
    pieces, at = list[bytes](), 0
    while at < len(stream):
        step = data.draw(st.integers(1, len(stream) - at))
        pieces.append(stream[at : at + step])
        at += step
    assert asyncio.run(bodies_of(pieces, strict=True)) == bodies


@pytest.mark.parametrize(
    ("stream", "strict"),
    [
        (b"Content-Length: -1\r\n\r\n", False),
        (b"Content-Length: 99999999999999\r\n\r\n", False),
        (b"Content-Length: \r\n\r\n", False),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", False),
        (b"Content-Length: " + b"0" * 5000 + b"\r\n\r\n", True),
        (b"x" * (MAX_HEADER + 1), False),
        (b"Origin: http://x\r\n", True),
        (b"GET / HTTP/1.1\r\n", True),
        (b"\n", True),
    ],
)
async def test_what_can_not_be_a_message_is_refused(stream: bytes, strict: bool) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await bodies_of([stream], strict=strict)
    assert isinstance(caught.value.exceptions[0], BrokenFrame)


async def test_other_headers_and_bare_newlines_are_read_where_nothing_is_at_stake() -> None:
    stream = b"\r\nX-Other: 1\ncontent-length:2\nContent-Type: application/vscode-jsonrpc; charset=utf-8\n\n{}"
    assert await bodies_of([stream]) == [b"{}"]


async def test_a_body_cut_off_by_the_end_of_input_is_none() -> None:
    assert await bodies_of([frame(b"{}"), b"Content-Length: 9\r\n\r\n{"]) == [b"{}"]


class MemoryWriter:
    """Keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def write(self, data: bytes) -> None:
        self.sent.append(json.loads(data.partition(b"\r\n\r\n")[2]))

    async def close(self) -> None:
        return None


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
METHODS = ["initialize", "shutdown", "echo", "fail", "textDocument/hover", "$/cancelRequest", "nothing", 7, ["exit"]]
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0"])},
    optional={"id": st.integers(0, 9) | ANY_JSON | st.text(max_size=2), "method": st.sampled_from(METHODS),
              "params": ANY_JSON, "result": ANY_JSON, "error": ANY_JSON},
)  # fmt: skip


@examples(150)
@given(st.lists(MESSAGES | ANY_JSON, max_size=8))
def test_every_request_is_answered_exactly_once(messages: list[Any]) -> None:
    asyncio.run(_converse(messages))


async def _converse(messages: list[Any]) -> None:
    writer, server = MemoryWriter(), Server()
    for method in ("initialize", "initialized", "shutdown", "echo"):
        server.feature(method)(lambda params=None: params)
    server.feature("fail")(lambda _: 1 / 0)
    server.feature("textDocument/hover")(lambda _: None)
    server.protocol.set_writer(cast("Any", writer))
    expected = 0
    for message in messages:
        server.protocol.handle_message(message)
        said = message if isinstance(message, dict) else {}
        is_reply = "method" not in said and ("result" in said or "error" in said)
        is_notification = isinstance(said.get("method"), str) and "id" not in said
        expected += not (is_reply or is_notification)
    await server.protocol.settled()
    assert len(writer.sent) == expected
    for answer in writer.sent:
        assert ("result" in answer) is not ("error" in answer)
        assert answer["jsonrpc"] == "2.0"

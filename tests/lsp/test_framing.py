"""Bytes to messages, however they are cut; and that every request is answered exactly once, whatever it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.lsp.framing import MAX_HEADER, BrokenFrame, FrameReader, frame
from donewhen.lsp.hardening import Conversation, Route


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=40), max_size=5), st.data())
def test_bodies_come_out_as_they_went_in_however_the_stream_is_cut(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(frame(body) for body in bodies)
    reader, found, at = FrameReader(strict=True), [], 0
    while at < len(stream):
        step = data.draw(st.integers(1, len(stream) - at))
        found += reader.feed(stream[at : at + step])
        at += step
    assert found == bodies


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
def test_what_can_not_be_a_message_is_refused(stream: bytes, strict: bool) -> None:
    with pytest.raises(BrokenFrame):
        FrameReader(strict=strict).feed(stream)


def test_other_headers_and_bare_newlines_are_read_where_nothing_is_at_stake() -> None:
    stream = b"\r\nX-Other: 1\ncontent-length:2\nContent-Type: application/vscode-jsonrpc; charset=utf-8\n\n{}"
    assert FrameReader().feed(stream) == [b"{}"]


class MemoryLink:
    """A link that keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def start(self, receive: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        raise NotImplementedError("the test delivers the messages")

    def send(self, body: bytes) -> None:
        self.sent.append(json.loads(body))

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


@settings(max_examples=150)
@given(st.lists(MESSAGES | ANY_JSON, max_size=8))
def test_every_request_is_answered_exactly_once(messages: list[Any]) -> None:
    asyncio.run(_converse(messages))


async def _converse(messages: list[Any]) -> None:
    link = MemoryLink()
    conversation = Conversation(link)
    conversation.routes = {
        name: Route(lambda params: params, raw=True) for name in ("initialize", "initialized", "shutdown", "echo")
    } | {"fail": Route(lambda _: 1 / 0, raw=True), "textDocument/hover": Route(lambda _: None)}
    expected = 0
    for message in messages:
        conversation.receive(json.dumps(message).encode())
        said = message if isinstance(message, dict) else {}
        is_reply = "method" not in said and ("result" in said or "error" in said)
        is_notification = isinstance(said.get("method"), str) and "id" not in said
        expected += not (is_reply or is_notification)
    await conversation.settled()
    assert len(link.sent) == expected
    for answer in link.sent:
        assert ("result" in answer) is not ("error" in answer)
        assert answer["jsonrpc"] == "2.0"

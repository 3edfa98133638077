"""A model on loopback that answers the host's own first request, so that the first real request isn't slow."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
_CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


class Mirror:
    """A context manager that serves while entered; `question` is a call to it in the host's form."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._port = 0

    async def __aenter__(self) -> Mirror:
        self._server = await asyncio.start_server(_serve, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()

    def question(self, stream: bool) -> dict[str, Any]:
        return {
            "model": "openai/warm-up",
            "key": "none",
            "api_base": f"http://127.0.0.1:{self._port}/v1",
            "parameters": {"tools": [_TOOL], "temperature": 0.0},
            "marks": [],
            "stream": stream,
            "timeout": 5.0,
            "silence": 5.0,
        }


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        found = _LENGTH.search(head)
        body = json.loads(await reader.readexactly(int(found[1]) if found else 0))
        kind, reply = (
            ("text/event-stream", _events()) if body.get("stream") else ("application/json", _sample_completion())
        )
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n".encode())
        writer.write(f"Content-Length: {len(reply)}\r\n\r\n".encode() + reply)
        await writer.drain()
    except (OSError, EOFError, ValueError):
        pass  # a failed warm-up only makes the first call slower
    finally:
        writer.close()


def _sample_completion() -> bytes:
    message = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
    return _completion("chat.completion", [{"index": 0, "finish_reason": "tool_calls", "message": message}], _USAGE)


def _events() -> bytes:
    kind = "chat.completion.chunk"
    pieces = [
        _completion(kind, [{"index": 0, "finish_reason": None, "delta": {"role": "assistant", "content": "."}}]),
        _completion(kind, [{"index": 0, "finish_reason": None, "delta": {"tool_calls": [{"index": 0, **_CALL}]}}]),
        _completion(kind, [{"index": 0, "finish_reason": "tool_calls", "delta": {}}]),
        _completion(kind, [], _USAGE),
        b"[DONE]",
    ]
    return b"".join(b"data: " + piece + b"\n\n" for piece in pieces)


def _completion(kind: str, choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> bytes:
    return json.dumps(
        {"id": "w", "object": kind, "created": 0, "model": "warm-up", "choices": choices, "usage": usage}
    ).encode()

"""As much of HTTP/1.1 as the clients of a model need: requests read, heads and chunks written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

MAX_HEAD = 256 * 1024
MAX_BODY = 512 * 1024 * 1024
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class BadRequest(Exception):
    """What came is not a request that could be answered."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came. The names of the headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    received: int
    """All bytes of it, head and framing included."""

    @property
    def keeps_alive(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"


class WatchedReader(asyncio.StreamReader):
    """A stream that tells when its other end has left, even while nobody reads."""

    def __init__(self) -> None:
        super().__init__(limit=MAX_HEAD)
        self.left = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.left.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.left.set()


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request of a connection; None once the client has closed it.

    Raises BadRequest for what isn't HTTP, or is larger than 256 KB of head and 512 MB of body.
    """
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest("the head of the request is too long") from error
    method, path, headers = _parse_head(raw)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        body, framing = await _read_body(reader, headers)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Request(method, path, headers, body, len(raw) + len(body) + framing)


def head(status: int, fields: Mapping[str, str]) -> bytes:
    """A response's head. A line break in a field's value becomes a blank."""
    phrase = _PHRASES.get(status, "Unknown")
    lines = [f"{name}: {' '.join(value.split())}" for name, value in fields.items()]
    return "\r\n".join([f"HTTP/1.1 {status} {phrase}", *lines, "", ""]).encode("latin-1", "replace")


def chunk(content: bytes) -> bytes:
    """A piece of a body of unknown length."""
    return b"%x\r\n%b\r\n" % (len(content), content)


def _parse_head(raw: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest(f"this is not an HTTP/1.1 request: {first[:80]!r}")
    pairs = (line.partition(":") for line in lines)
    return words[0], words[1].partition("?")[0], {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> tuple[bytes, int]:
    """The body, and how many bytes its framing took."""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader)
    return await reader.readexactly(_length(headers.get("content-length", "0"), 10)), 0


async def _read_chunks(reader: asyncio.StreamReader) -> tuple[bytes, int]:
    parts: list[bytes] = []
    framing = total = 0
    while True:
        line = await reader.readuntil(b"\r\n")
        size = _length(line.partition(b";")[0].decode("latin-1").strip(), 16)
        total += size
        if total > MAX_BODY:
            raise BadRequest("the body of the request is too long")
        parts.append((await reader.readexactly(size + 2))[:-2])
        framing += len(line) + 2
        if not size:
            return b"".join(parts), framing


def _length(text: str, base: int) -> int:
    try:
        length = int(text, base)
    except ValueError as error:
        raise BadRequest(f"this is not a length: {text[:80]!r}") from error
    if not 0 <= length <= MAX_BODY:
        raise BadRequest("the body of the request is too long")
    return length

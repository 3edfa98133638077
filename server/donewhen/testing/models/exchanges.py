"""What the server was asked, and how its answers leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from donewhen.testing.models.calls import ModelCall
from donewhen.testing.models.http1 import Request, WatchedReader
from donewhen.testing.models.shapes import Plan


@dataclass
class Exchange:
    """A request, and what became of it. Times are in seconds, sizes in bytes."""

    request: Request
    arrived: float
    """On the monotonic clock, when its last byte was there."""
    time: float
    """The same since 1970."""
    number: int = 0
    """Which request to its model it is, from 1; 0 for what no script answers."""
    status: int = 0
    """0 while nothing was answered, and where nothing ever is."""
    sent: int = 0
    seconds: float = 0.0
    ended: bool = False
    """Whether the server is through with it."""
    disconnected: bool = False
    """Whether the client left before the reply had ended."""
    failure: str = ""
    """What the script found wrong with it."""

    @property
    def path(self) -> str:
        return self.request.path

    @property
    def headers(self) -> Mapping[str, str]:
        return self.request.headers

    @property
    def key(self) -> str:
        """The API key that came as a bearer token."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @cached_property
    def body(self) -> dict[str, Any]:
        """The parsed JSON, empty if there is none (or bodies aren't kept)."""
        try:
            parsed = json.loads(self.request.body)
        except ValueError:
            return {}
        return cast(dict[str, Any], parsed) if isinstance(parsed, dict) else {}

    @property
    def is_parsed(self) -> bool:
        """Whether anybody looked at the body so far."""
        return "body" in self.__dict__

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def call(self) -> ModelCall:
        """The same as scripted callables see it."""
        return ModelCall(self.model, self.number, self.body, self.key)

    def forget(self) -> None:
        """Drops the body."""
        self.request = replace(self.request, body=b"")
        self.__dict__.pop("body", None)


async def send(made: Plan, exchange: Exchange, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
    """Carries out a plan, and notes in the exchange what went out and whether the client left before the end."""
    exchange.status = made.status
    try:
        exchange.disconnected = not await _sent(made, exchange, reader, writer)
    except ConnectionError:
        exchange.disconnected = True


async def _sent(made: Plan, exchange: Exchange, reader: WatchedReader, writer: asyncio.StreamWriter) -> bool:
    """Whether the client stayed to the end."""
    if made.delay and await _leaves(reader, made.delay):
        return False
    for piece in made.pieces:
        if exchange.sent and await _leaves(reader, made.pace):
            return False
        writer.write(piece)
        await writer.drain()
        exchange.sent += len(piece)
    if made.ending == "hang":
        await reader.left.wait()
    return made.ending != "hang"


async def _leaves(reader: WatchedReader, seconds: float) -> bool:
    """Whether the client leaves within that time."""
    if not seconds:
        # A stream without pauses may go on for ever: it must not keep the loop for itself.
        await asyncio.sleep(0)
        return reader.left.is_set()
    try:
        async with asyncio.timeout(seconds):
            return await reader.left.wait()
    except TimeoutError:
        return False

"""The messages of one agent process: a line of JSON each, in both directions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

from donewhen.core.decoding import ByteLines, json_object
from donewhen.workers.activity import activity_line, without_control

LONGEST = 64 * 1024 * 1024
"""Bytes of one message."""
MOST_NOISE = 1024 * 1024
"""Bytes on its output that are not messages, beyond which it is taken for another program."""


class Link:
    """A process that speaks the protocol (`ports.Dialogue`), as the transport of `acp.connection.Connection`.

    Updates of a session go to `update` at once, in their order: a connection would hand them on each by itself.
    """

    def __init__(self, update: Callable[[dict[str, Any]], None]) -> None:
        self.broken = ""
        """Why the agent can't be talked to any longer, in words for people; empty while it can."""
        self.noise = ""
        """The first line that it wrote which is not a message."""
        self.last_heard = asyncio.get_running_loop().time()
        self.replied = asyncio.Event()
        """Set by each answer, and once nothing more will be heard."""
        self._update = update
        self._messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._send: Callable[[bytes], None] | None = None
        self._early: list[bytes] = []
        self._lines = ByteLines(LONGEST)
        self._noisy = 0

    # ports.Dialogue

    def began(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        for line in self._early:
            send(line)
        self._early.clear()

    def heard(self, data: bytes) -> None:
        self.last_heard = asyncio.get_running_loop().time()
        for line in self._lines.add(data):
            self._take_line(line)
        if self._lines.held > LONGEST:
            self._break(f"it sent a message of more than {LONGEST // 1024 // 1024} MB")

    def ended(self) -> None:
        self.replied.set()
        self._messages.put_nowait(None)

    # acp's transport

    async def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        if self._send is None:
            self._early.append(line)
        else:
            self._send(line)

    async def receive(self) -> dict[str, Any] | None:
        message = await self._messages.get()
        if message is None:
            self._messages.put_nowait(None)
        return message

    async def close(self) -> None:
        self.ended()

    def _take_line(self, line: bytes) -> None:
        if not line.strip() or self.broken:
            return
        known = json_object(line)
        if known is None:
            self._not_a_message(line)
            return
        if known.get("method") == "session/update" and "id" not in known:
            params: Any = known.get("params")
            if isinstance(params, dict):
                self._update(cast("dict[str, Any]", params))
            return
        if not isinstance(known.get("id", 0), int | str | None) or not isinstance(known.get("method", ""), str):
            self._not_a_message(line)
            return
        if "method" not in known:
            self.replied.set()
        self._messages.put_nowait(known)

    def _not_a_message(self, line: bytes) -> None:
        """Some agents greet on their output: that is passed over, up to a point."""
        self.noise = self.noise or activity_line(without_control(line[:400].decode(errors="replace")))
        self._noisy += len(line) + 1
        if self._noisy > MOST_NOISE:
            self._break(f"what it writes to its output are no messages of the protocol, such as: {self.noise}")

    def _break(self, why: str) -> None:
        if not self.broken:
            self.broken = why
            self._lines.rest()
            self.ended()

"""Requests of the server to its client: each with a time limit, since a client may never answer."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from donewhen.lsp.failures import ClientSilent

logger = logging.getLogger(__name__)

ASK_SECONDS = 10.0


class ServerRequests:
    """What was asked and is not answered yet; replies that nobody waits for any more are ignored."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._withdraws = True
        self._waiting: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, method: str, params: Any, *, timeout: float | None = ASK_SECONDS) -> Any:
        """The client's result as it came. Raises ClientSilent; cancelling withdraws the question."""
        number = f"donewhen-{next(self._numbers)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            async with asyncio.timeout(timeout):
                return await future
        except TimeoutError:
            self._withdraw(number)
            raise ClientSilent(f"the client did not answer {method} within {timeout} s") from None
        except asyncio.CancelledError:
            self._withdraw(number)
            raise
        finally:
            self._waiting.pop(number, None)

    def take_reply(self, message: Mapping[str, Any]) -> None:
        future = self._waiting.pop(str(message.get("id")), None)
        if future is None or future.done():
            logger.info("a reply came that nobody waits for")
        elif "error" in message:
            error = message["error"]
            text = error.get("message") if isinstance(error, dict) else error  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # a client's JSON
            future.set_exception(ClientSilent(f"the client refused: {text}"))
        else:
            future.set_result(message.get("result"))

    def give_up(self) -> None:
        """The client is gone: nobody will answer."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ClientSilent("the client is gone"))
        self._waiting.clear()

    def no_more_withdrawing(self) -> None:
        """After `shutdown` a client needs no telling that nobody waits for its answers."""
        self._withdraws = False

    def _withdraw(self, number: str) -> None:
        if self._withdraws:
            self._send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})

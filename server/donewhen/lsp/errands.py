"""Work that a request waits for and a person may cut short, shown as progress where the client shows it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from donewhen.lsp.failures import ClientSilent

if TYPE_CHECKING:
    from donewhen.lsp.hardening import Conversation

Later = Callable[[Coroutine[Any, Any, None], str], object]
ResultT = TypeVar("ResultT")


class Errands:
    """The errands of one session, by the token of their progress. `shown` tells whether the client shows progress."""

    def __init__(self, protocol: Conversation, shown: Callable[[], bool], later: Later) -> None:
        self._protocol = protocol
        self._shown = shown
        self._later = later
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._begun: set[str] = set()

    async def run(self, title: str, work: Coroutine[Any, Any, ResultT]) -> ResultT | None:
        """The result; None where the person cancelled it. Cancelling the request cancels the work too."""
        token = f"donewhen-{uuid.uuid4()}"
        task = asyncio.ensure_future(work)
        self._tasks[token] = task
        if self._shown():
            self._later(self._begin(token, title), "window/workDoneProgress/create")
        try:
            await asyncio.wait({task})
            return None if task.cancelled() else task.result()
        finally:
            task.cancel()
            self._end(token)

    def cancel(self, token: object) -> bool:
        """The person cancelled a progress; False where it is no errand's."""
        task = self._tasks.get(str(token))
        if task is not None:
            task.cancel()
        return task is not None

    async def _begin(self, token: str, title: str) -> None:
        try:
            await self._protocol.ask("window/workDoneProgress/create", {"token": token})
        except ClientSilent:
            return
        if token in self._tasks:
            self._begun.add(token)
            self._notify(token, {"kind": "begin", "title": title, "cancellable": True})

    def _end(self, token: str) -> None:
        self._tasks.pop(token, None)
        if token in self._begun:
            self._begun.discard(token)
            self._notify(token, {"kind": "end"})

    def _notify(self, token: str, value: dict[str, Any]) -> None:
        self._protocol.notify("$/progress", {"token": token, "value": value})

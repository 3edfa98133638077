"""Which way a call goes: through an official client in this process, or through litellm in its host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from donewhen.models.direct.clients import DirectClients, family_of
from donewhen.models.hosted import Transport
from donewhen.models.protocol import Answered, Call


class HostTransport(Transport, Protocol):
    """The way through litellm: `ModelHost`; tests share one between loops."""

    def warm(self) -> None: ...


class Routes:
    """Both ways (`hosted.Transport`). `host` gives the way through litellm when it is first needed; `litellm_only` says
    whether everything goes there."""

    def __init__(self, host: Callable[[], HostTransport], litellm_only: Callable[[], bool]) -> None:
        self._host = host
        self._litellm_only = litellm_only
        self._clients = DirectClients()

    def warm(self, model: str, api_base: str | None) -> None:
        """Starts in the background what the first call to this model would wait for."""
        if self._direct(model, api_base):
            self._clients.warm(model, api_base)
        else:
            self._host().warm()

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
        way: Transport = self._clients if self._direct(call.model, call.api_base) else self._host()
        return await way.ask(call, on_text)

    async def close(self) -> None:
        """Ends the connections; the host belongs to whoever gave it."""
        await self._clients.close()

    def _direct(self, model: str, api_base: str | None) -> bool:
        return not self._litellm_only() and family_of(model, api_base) is not None

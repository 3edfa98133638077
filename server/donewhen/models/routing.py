"""Which way a call goes: through an official client in this process, through litellm in its host, or to the editor."""

from __future__ import annotations

from collections.abc import Callable

from donewhen.core.verdict import is_editors
from donewhen.models.direct.clients import DirectClients, family_of
from donewhen.models.editor import EditorTransport
from donewhen.models.hosted import Transport
from donewhen.models.protocol import Answered, Call
from donewhen.ports import AskEditor, no_editor_to_ask


class Routes:
    """All ways (`hosted.Transport`). `host` gives the way through litellm when it is first needed; `litellm_only` says
    whether everything but the editor's own models goes there; `ask_editor` asks for these."""

    def __init__(
        self,
        host: Callable[[], Transport],
        litellm_only: Callable[[], bool],
        ask_editor: AskEditor = no_editor_to_ask,
    ) -> None:
        self._host = host
        self._editor = EditorTransport(ask_editor)
        self._litellm_only = litellm_only
        self._clients = DirectClients()

    def warm(self, model: str, api_base: str | None) -> None:
        self._way(model, api_base).warm(model, api_base)

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
        return await self._way(call.model, call.api_base).ask(call, on_text)

    async def close(self) -> None:
        """Ends the connections; the host belongs to whoever gave it."""
        await self._clients.close()

    def _way(self, model: str, api_base: str | None) -> Transport:
        if is_editors(model):
            return self._editor
        direct = not self._litellm_only() and family_of(model, api_base) is not None
        return self._clients if direct else self._host()

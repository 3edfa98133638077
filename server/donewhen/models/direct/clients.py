"""Makes single attempts through the official clients: the transport for what needs no litellm."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, cast

from donewhen.installation import ModelExtra
from donewhen.models.catalogue import at_its_provider, mode_of, provider_of
from donewhen.models.described import described, redirected_to
from donewhen.models.protocol import Answered, Call, CallFailed
from donewhen.models.silence import limited_silence

if TYPE_CHECKING:
    from donewhen.models.direct.anthropic import AnthropicClient
    from donewhen.models.direct.openai import OpenAiClient

Family = Literal["openai", "anthropic"]
_PLAIN = {"custom_openai", "hosted_vllm", "llamafile", "lm_studio", "openai"}
"""Providers that are OpenAI's own format and nothing more, at the address that the person gave."""


@cache
def family_of(model: str, api_base: str | None) -> Family | None:
    """The official client that serves a model; None: litellm does."""
    family = _family(model, api_base)
    return family if family is not None and find_spec(family) is not None else None


def extra_lacked(model: str, api_base: str | None) -> ModelExtra | None:
    """The extra to install before the model can be called; None: what calls it is there."""
    if find_spec("litellm") is not None:
        return None
    if _family(model, api_base) is None:
        return "litellm"
    return "models" if family_of(model, api_base) is None else None


def _family(model: str, api_base: str | None) -> Family | None:
    provider = provider_of(model)
    if provider == "anthropic":
        return "anthropic"
    if provider not in _PLAIN or not (api_base or provider == "openai"):
        return None
    if at_its_provider(model, api_base) and mode_of(model) not in ("chat", None):
        return None
    return None if _bare(model).startswith("responses/") else "openai"


def _bare(model: str) -> str:
    """The name by which the endpoint knows the model."""
    prefix, slash, rest = model.partition("/")
    return rest if slash and prefix in (*_PLAIN, "anthropic") else model


class DirectClients:
    """One client per address, for as long as the server lives."""

    def __init__(self) -> None:
        self._clients: dict[tuple[Family, str | None], asyncio.Task[OpenAiClient | AnthropicClient]] = {}

    def warm(self, model: str, api_base: str | None) -> None:
        """Imports the client in the background; a failure shows at the next call."""
        if family := family_of(model, api_base):
            self._client(family, api_base)

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
        """See `hosted.Transport`. Raises ValueError for a model that no official client serves."""
        family = family_of(call.model, call.api_base)
        if family is None:
            raise ValueError(f"no official client serves {call.model}")
        hears = _Listener(on_text)
        try:
            client = await asyncio.shield(self._client(family, call.api_base))
            async with limited_silence(call.timeout, call.silence) as heard:
                return await client.ask(replace(call, model=_bare(call.model)), hears, heard)
        except Exception as error:
            if hears.failure is not None:
                raise hears.failure from None
            failure = described(error, call.key, _body_message(error))
            if led := redirected_to(error):
                failure = replace(failure, message=f"{failure.message} (at {led}, where that address redirects)")
            raise CallFailed(failure) from error

    async def close(self) -> None:
        """Ends every connection; a later call opens new ones."""
        clients, self._clients = self._clients, {}
        for loading in clients.values():
            with suppress(Exception):
                await (await loading).close()

    def _client(self, family: Family, api_base: str | None) -> asyncio.Task[OpenAiClient | AnthropicClient]:
        known = self._clients.get((family, api_base))
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            known = asyncio.ensure_future(asyncio.to_thread(_import_client, family, api_base))
            # Read here, since often nothing awaits an exception; what does still gets it.
            known.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._clients[family, api_base] = known
        return known


class _Listener:
    """Hands on new text, and tells an exception of who listens from one of the client."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self.failure: Exception | None = None

    def __call__(self, text: str) -> None:
        if self._on_text is None:
            return
        try:
            self._on_text(text)
        except Exception as error:
            self.failure = error
            raise


def _import_client(family: Family, api_base: str | None) -> OpenAiClient | AnthropicClient:
    # Lazy: an import takes half a second of a core or more, in a thread of its own.
    if family == "anthropic":
        from donewhen.models.direct.anthropic import AnthropicClient

        return AnthropicClient(api_base)
    from donewhen.models.direct.openai import OpenAiClient

    return OpenAiClient(api_base)


def _body_message(error: BaseException) -> str | None:
    """What the provider said, out of the body that the client kept."""
    body: object = getattr(error, "body", None)
    for _ in range(2):
        if not isinstance(body, Mapping):
            break
        found = cast(Mapping[str, object], body)
        if isinstance(message := found.get("message"), str) and message:
            return message
        body = found.get("error")
    return body if isinstance(body, str) and body else None

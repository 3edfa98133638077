"""OpenAI's chat completions, there and at every endpoint that speaks them, by the official client."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from openai import AsyncOpenAI, AsyncStream, DefaultAsyncHttpxClient, Omit, OpenAIError
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from donewhen.core.calls import Message
from donewhen.models.direct.connections import at_home, headers_to_leave_out
from donewhen.models.protocol import Answered, Call
from donewhen.models.replies import (
    ErrorReplyError,
    Growing,
    UnreadableReplyError,
    chat_message,
    said_instead,
    streamed_reply,
    whole_reply,
)

_ADDRESS = "https://api.openai.com/v1"
_PATH = "/chat/completions"


class OpenAiClient:
    """The official client at one address."""

    def __init__(self, api_base: str | None) -> None:
        self._client = AsyncOpenAI(
            api_key="none",  # each call brings its own
            base_url=api_base or _ADDRESS,
            max_retries=0,
            timeout=None,  # each call has its own limit of silence
            default_headers=cast(Any, {name: Omit() for name in headers_to_leave_out("OPENAI_CUSTOM_HEADERS")}),
            http_client=DefaultAsyncHttpxClient(mounts=at_home()),
        )
        if api_base:
            self._client.organization = self._client.project = None

    async def ask(self, call: Call, on_text: Callable[[str], None], on_chunk: Callable[[], None]) -> Answered:
        body: dict[str, Any] = {
            "model": call.model,
            "messages": [_sent(one) for one in call.messages],
            **call.parameters,
        }
        # `chat.completions.create` walks through all messages to rename what isn't renamed here: 28 ms for a hundred.
        post, headers = self._client.post, {"Authorization": f"Bearer {call.key}"}
        if call.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
            stream = await post(
                _PATH, cast_to=ChatCompletion, body=body, options={"headers": headers}, stream=True,
                stream_cls=AsyncStream[ChatCompletionChunk],
            )  # fmt: skip
            growing = Growing(on_text, on_chunk)
            try:
                async with stream:
                    if (said := await said_instead(stream)) is not None:
                        return growing.shown(_whole_completion(ChatCompletion.construct(**said)))
                    return await streamed_reply(stream, growing)
            except OpenAIError as error:
                raise growing.broken_by(error) from error
        response = await post(_PATH, cast_to=ChatCompletion, body=body, options={"headers": headers})
        return _whole_completion(response)

    async def close(self) -> None:
        await self._client.close()


@lru_cache(1_000)
def _sent(message: Message) -> dict[str, Any]:
    """A message as it is sent: a conversation goes there again and again. Never changed."""
    return chat_message(message, marked=False)


def _whole_completion(response: object) -> Answered:
    if not isinstance(response, ChatCompletion):
        raise UnreadableReplyError(f"the reply is not a chat completion: {str(response)[:200]}")
    if not response.choices and (said := (response.model_extra or {}).get("error")):
        raise ErrorReplyError(said)
    return whole_reply(response)

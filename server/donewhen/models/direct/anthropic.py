"""Anthropic's Messages by the official client: our messages, tools and schema in its form, and its reply in ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from anthropic import AnthropicError, AsyncAnthropic, AsyncStream, DefaultAsyncHttpxClient, Omit
from anthropic.types import Message, RawMessageStreamEvent

from donewhen.core import calls
from donewhen.models.catalogue import facts_of
from donewhen.models.direct.connections import at_home, headers_to_leave_out
from donewhen.models.protocol import Answered, Call
from donewhen.models.replies import (
    BrokenOffError,
    EmptyReplyError,
    Growing,
    UnreadableReplyError,
    arguments_in,
    refuse_endless,
    said_instead,
)

_ADDRESS = "https://api.anthropic.com"
_PATH = "/v1/messages"
_LONGEST_UNKNOWN = 8_192
"""Tokens of a reply where neither the request nor the catalogue says; Anthropic wants a bound."""
_MARK = {"cache_control": {"type": "ephemeral"}}
_FINISH: Mapping[str | None, str] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}


class AnthropicClient:
    """The official client at one address."""

    def __init__(self, api_base: str | None) -> None:
        # `/v1` belongs to the path here; for litellm it may stand at the end of the address or not.
        address = (api_base or _ADDRESS).rstrip("/").removesuffix(_PATH).removesuffix("/v1")
        self._client = AsyncAnthropic(
            api_key="none",  # each call brings its own
            base_url=address,
            max_retries=0,
            timeout=None,  # each call has its own limit of silence
            default_headers=cast(Any, {name: Omit() for name in headers_to_leave_out("ANTHROPIC_CUSTOM_HEADERS")}),
            open_telemetry=False,
            # A redirect elsewhere would take the key along: it is in no header that is known to hold one.
            http_client=DefaultAsyncHttpxClient(mounts=at_home(), follow_redirects=False),
        )

    async def ask(self, call: Call, on_text: Callable[[str], None], on_chunk: Callable[[], None]) -> Answered:
        body, headers = body_of(call), {"X-Api-Key": call.key or "none"}
        if call.stream:
            stream = await self._client.post(
                _PATH, cast_to=Message, body={**body, "stream": True}, options={"headers": headers}, stream=True,
                stream_cls=AsyncStream[RawMessageStreamEvent],
            )  # fmt: skip
            return await _streamed(stream, Growing(on_text, on_chunk))
        response = await self._client.post(_PATH, cast_to=Message, body=body, options={"headers": headers})
        return _whole_message(response)

    async def close(self) -> None:
        await self._client.close()


def body_of(call: Call) -> dict[str, Any]:
    """A call in Anthropic's form."""
    said = call.parameters
    marks = set(call.marks)
    limit = said.get("max_tokens") or said.get("max_completion_tokens")
    body: dict[str, Any] = {
        "model": call.model,
        "max_tokens": limit or facts_of(f"anthropic/{call.model}").max_output or _LONGEST_UNKNOWN,
        "messages": _turns(call.messages, marks),
    }
    system = [
        _text_block(one.text, index in marks)
        for index, one in enumerate(call.messages)
        if one.role == "system" and one.text
    ]
    if system:
        body["system"] = system
    if tools := said.get("tools"):
        body["tools"] = [
            {
                "name": one["function"]["name"],
                "description": one["function"]["description"],
                "input_schema": {"type": "object", **one["function"]["parameters"]},
            }
            for one in tools
        ]
    if "temperature" in said:
        body["temperature"] = min(said["temperature"], 1.0)
    # There is nothing like OpenAI's `json_object`: the prompt asks for an object then.
    if (form := said.get("response_format")) and form["type"] == "json_schema":
        body["output_config"] = {"format": {"type": "json_schema", "schema": form["json_schema"]["schema"]}}
    return body


def _text_block(text: str, marked: bool) -> dict[str, Any]:
    return {"type": "text", "text": text, **(_MARK if marked else {})}


def _turns(messages: Sequence[calls.Message], marks: set[int]) -> list[dict[str, Any]]:
    """The conversation, user and assistant in turns: what follows from the same side is one message there, and results
    of tools come from the user, before what the user says."""
    turns: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        if message.role == "system":
            continue
        blocks = _blocks(message, index in marks)
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [_text_block("Go on.", False)]})
    return turns


def _blocks(message: calls.Message, marked: bool) -> list[dict[str, Any]]:
    """The parts of one message; an empty text, which is refused, is left out."""
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.answers or "", "content": message.text}
        return [{**result, **(_MARK if marked and message.text else {})}]
    texts = [_text_block(message.text, marked)] if message.text.strip() else []
    return [
        *texts,
        *(
            {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(arguments_in(call.arguments))}
            for call in message.calls
        ),
    ]


# The reply.


_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _whole_message(response: object) -> Answered:
    if not isinstance(response, Message) or not isinstance(cast(object, response.content), list):
        raise UnreadableReplyError(f"the reply is not a message: {str(response)[:200]}")
    texts = [block.text for block in response.content if block.type == "text"]
    wishes = tuple(
        calls.ToolCall(block.id, block.name, json.dumps(block.input))
        for block in response.content
        if block.type == "tool_use"
    )
    refuse_endless(sum(map(len, texts)) + sum(len(one.arguments) for one in wishes))
    message = calls.Message("assistant", "".join(texts), wishes)
    return _answered(message, _FINISH.get(response.stop_reason, "stop"), _counted({}, response.usage))


async def _streamed(events: AsyncStream[RawMessageStreamEvent], growing: Growing) -> Answered:
    counts: dict[str, int] = {}
    try:
        async with events:
            if (said := await said_instead(events)) is not None:
                return growing.shown(_whole_message(Message.construct(**said)))
            async for event in events:
                growing.on_chunk()
                counts = _take_event(event, growing, counts)
    except AnthropicError as error:
        raise growing.broken_by(error) from error
    if not counts:
        raise EmptyReplyError("the stream held no reply: it was no reply at all, or the connection was dropped")
    if not growing.finish:
        raise BrokenOffError("the stream ended without saying that the reply is whole")
    return _answered(growing.message(), growing.finish, counts)


def _take_event(event: RawMessageStreamEvent, growing: Growing, counts: dict[str, int]) -> dict[str, int]:
    """One event of a stream; the tokens that are known after it."""
    if event.type == "message_start":
        return _counted(counts, event.message.usage)
    if event.type == "content_block_start" and event.content_block.type == "tool_use":
        growing.add_part(event.index, event.content_block.id, event.content_block.name, "")
    elif event.type == "content_block_delta":
        if event.delta.type == "text_delta":
            growing.add_text(event.delta.text)
        elif event.delta.type == "input_json_delta":
            growing.add_part(event.index, None, None, event.delta.partial_json)
    elif event.type == "message_delta":
        growing.finish = _FINISH.get(event.delta.stop_reason, "stop")
        return _counted(counts, event.usage)
    return counts


def _counted(known: Mapping[str, int], usage: Any) -> dict[str, int]:
    """The tokens by Anthropic's names. The end of a stream may leave out what its beginning said."""
    told = {name: getattr(usage, name, None) for name in _COUNTS}
    return {name: value if isinstance(value, int) else known.get(name, 0) for name, value in told.items()}


def _answered(message: calls.Message, finish: str, counts: Mapping[str, int]) -> Answered:
    """Anthropic counts what it read from and wrote to its cache apart from the rest of the prompt."""
    rest, output, cached, written = (counts[name] for name in _COUNTS)
    return Answered(message, finish, rest + cached + written, output, cached, written_tokens=written)

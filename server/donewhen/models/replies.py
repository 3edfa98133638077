"""OpenAI's chat format, in which most providers are asked: messages as they are sent, replies as they are read.

A reply is read in the same way whatever client it came through: litellm's objects have the same fields as those of the
official one.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from donewhen.core.calls import Message, ToolCall
from donewhen.models.protocol import Answered

_SEND_EVERY = 0.04
LONGEST_REPLY = 4_000_000
"""Characters; ten times the length of the longest replies of models."""
_NOTHING = "(nothing)"
"""Replaces an assistant's empty message, which some providers refuse."""
_JSON = "application/json"


class ErrorReplyError(Exception):
    """An error that came with the status of a success. `body` is what was said."""

    def __init__(self, body: object) -> None:
        super().__init__("the reply is an error")
        self.body = body


class UnreadableReplyError(Exception):
    """What came is not a reply."""


class EmptyReplyError(Exception):
    """A reply without any content. A client takes an HTML page for a stream without events, and litellm does the same
    with a complete reply to a request for a stream: `Abilities.without_stream` then stops asking for streams."""


class EndlessReplyError(Exception):
    """The reply is longer than any model's should be; the server reads each reply as a whole, so length is limited."""

    status_code = 422


class BrokenOffError(Exception):
    """The stream ended in the middle of the reply."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the reply broke off: {why}")


def chat_message(message: Message, *, marked: bool) -> dict[str, Any]:
    """A message as it is sent, never one that a client handed out, because its private fields would be sent along."""
    content: Any = message.text or (None if message.calls else _NOTHING if message.role == "assistant" else "")
    if marked and content:
        content = [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
    sent: dict[str, Any] = {"role": message.role, "content": content}
    if message.calls:
        sent["tool_calls"] = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": arguments_in(one.arguments)}}
            for one in message.calls
        ]
    if message.answers:
        sent["tool_call_id"] = message.answers
    return sent


def arguments_in(arguments: str) -> str:
    """The arguments that a model wrote, in the form that providers take back: a JSON object."""
    with suppress(ValueError):
        if isinstance(json.loads(arguments), dict):
            return arguments
    return json.dumps({"not_json": arguments}) if arguments.strip() else "{}"


def new_id() -> str:
    """Some servers give a call no id, but its answer needs one."""
    return f"call_{secrets.token_hex(6)}"


def refuse_endless(characters: int) -> None:
    """Raises EndlessReplyError."""
    if characters > LONGEST_REPLY:
        raise EndlessReplyError(f"its reply has no end: more than {LONGEST_REPLY:,} characters")


def whole_reply(response: Any) -> Answered:
    """A complete reply. Raises EmptyReplyError and EndlessReplyError."""
    if not response.choices:
        raise EmptyReplyError("the reply held no choices")
    choice = response.choices[0]
    text = choice.message.content or ""
    calls = tuple(
        ToolCall(call.id or new_id(), call.function.name or "", call.function.arguments or "")
        for call in choice.message.tool_calls or ()
    )
    refuse_endless(len(text) + sum(len(call.arguments) for call in calls))
    return _answered(Message("assistant", text, calls), choice.finish_reason, getattr(response, "usage", None))


_LONGEST_PAGE = 4_000
"""Bytes, in which its title stands."""


async def said_instead(stream: Any) -> dict[str, Any] | None:
    """The JSON object that came where a stream was asked for: a complete reply. None where a stream came. Raises
    ErrorReplyError, and UnreadableReplyError with a page of HTML."""
    headers = stream.response.headers
    if "html" in headers.get("content-type", "") and (page := await stream.response.aread()).lstrip()[:1] == b"<":
        raise UnreadableReplyError(page[:_LONGEST_PAGE].decode("utf-8", "replace"))
    # Some call a stream so, too: its length is not known beforehand.
    if _JSON not in headers.get("content-type", "") or "content-length" not in headers:
        return None
    said: Any = None
    with suppress(ValueError):  # then it is kept, to be read as a stream
        said = json.loads(await stream.response.aread())
    if not isinstance(said, dict):
        return None
    found = cast(dict[str, Any], said)
    if error := found.get("error"):
        raise ErrorReplyError(error)
    return found


async def streamed_reply(chunks: Any, growing: Growing) -> Answered:
    """The reply that a stream of chunks makes; the stream is closed in any case. Raises EmptyReplyError,
    EndlessReplyError, and BrokenOffError where neither a reason nor the usage ends it."""
    usage: Any = None
    try:
        async for chunk in chunks:
            growing.on_chunk()
            usage = getattr(chunk, "usage", None) or usage
            if not chunk.choices:
                continue
            choice = chunk.choices[0]
            growing.finish = choice.finish_reason or growing.finish
            for part in choice.delta.tool_calls or ():
                growing.add_part(part.index or 0, part.id, part.function.name, part.function.arguments)
            if choice.delta.content:
                growing.add_text(choice.delta.content)
    finally:
        with suppress(Exception):
            await chunks.aclose()
    if usage is None and growing.empty:
        raise EmptyReplyError("the stream held no reply: it was no reply at all, or the connection was dropped")
    if usage is None and not growing.finish:
        raise BrokenOffError("the stream ended without saying that the reply is whole")
    return _answered(growing.message(), growing.finish, usage)


def _answered(message: Message, finish: str | None, usage: Any) -> Answered:
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or getattr(usage, "cache_read_input_tokens", None)
    return Answered(
        message,
        finish or "stop",
        getattr(usage, "prompt_tokens", None) or 0,
        getattr(usage, "completion_tokens", None) or 0,
        cached or 0,
        getattr(usage, "cache_creation_input_tokens", None) or 0,
    )


@dataclass(slots=True)
class Growing:
    """A reply that grows. New text is passed on at most every 40 ms; `on_chunk` is called for whatever came."""

    on_text: Callable[[str], None]
    on_chunk: Callable[[], None]
    finish: str = ""
    _texts: list[str] = field(default_factory=list[str])
    _unsent: list[str] = field(default_factory=list[str])
    _calls: list[list[str]] = field(default_factory=list[list[str]])
    _growing: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    _sent_at: float = 0.0
    _size: int = 0

    @property
    def empty(self) -> bool:
        return not self._texts and not self._calls

    def add_text(self, text: str) -> None:
        """Raises EndlessReplyError."""
        self._texts.append(text)
        self._unsent.append(text)
        self._grow(len(text))
        now = time.monotonic()
        if now - self._sent_at >= _SEND_EVERY:
            self._send()
            self._sent_at = now

    def add_part(self, index: int, id_: str | None, name: str | None, arguments: str | None) -> None:
        """A piece of the tool call of that number. Raises EndlessReplyError."""
        call = self._growing.get(index)
        if call is None or (id_ and call[0] and id_ != call[0]):  # some servers number every call 0
            call = self._growing[index] = ["", "", ""]
            self._calls.append(call)
        call[0] = id_ or call[0]
        call[1] += name or ""
        call[2] += arguments or ""
        self._grow(len(arguments or ""))

    def message(self) -> Message:
        """What came, after the rest of the text was passed on."""
        self._send()
        calls = tuple(ToolCall(id_ or new_id(), name, arguments) for id_, name, arguments in self._calls)
        return Message("assistant", "".join(self._texts), calls)

    def shown(self, reply: Answered) -> Answered:
        """A reply that came whole; its text is passed on."""
        self.on_chunk()
        self.on_text(reply.message.text)
        return reply

    def broken_by(self, error: Exception) -> Exception:
        """What to raise where this ended the stream."""
        return error if self.empty else BrokenOffError(str(error))

    def _send(self) -> None:
        if self._unsent:
            self.on_text("".join(self._unsent))
            self._unsent.clear()

    def _grow(self, characters: int) -> None:
        self._size += characters
        refuse_endless(self._size)

"""What a model was asked: the request's body as values, for callables that answer and for expectations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class ModelCall:
    """One request for a completion. `number` counts the requests to this model from 1; `body` is the parsed JSON."""

    model: str
    number: int
    body: Mapping[str, Any]
    key: str = ""

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        return tuple(_message(raw) for raw in _mappings(self.body.get("messages")))

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that are offered; their schemas are in `body`."""
        return tuple(str(_mapping(raw.get("function")).get("name", "")) for raw in _mappings(self.body.get("tools")))

    @property
    def response_format(self) -> Mapping[str, Any] | None:
        found = self.body.get("response_format")
        return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else None

    @property
    def streams(self) -> bool:
        return self.body.get("stream") is True

    @property
    def wants_usage(self) -> bool:
        """Whether a stream must end with the token counts (`stream_options.include_usage`)."""
        return _mapping(self.body.get("stream_options")).get("include_usage") is True

    @property
    def last(self) -> Message:
        """The newest message, an empty one where there is none."""
        return self.messages[-1] if self.messages else Message("", "")

    @cached_property
    def text(self) -> str:
        """All that the messages say, arguments of tool calls included, a blank line between two messages."""
        return "\n\n".join(message.full_text for message in self.messages)

    @property
    def prompt_tokens(self) -> int:
        """An estimate: a quarter of the messages' characters, rounded up."""
        return tokens(sum(len(message.full_text) for message in self.messages))


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. `arguments` is the JSON as it travels, or whatever else the model wrote there."""

    name: str
    arguments: str = "{}"
    id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation. `text` joins the text parts of a content that is a list."""

    role: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    @property
    def full_text(self) -> str:
        return "\n".join([self.text, *(f"{call.name} {call.arguments}" for call in self.tool_calls)])


def tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def _message(raw: Mapping[str, Any]) -> Message:
    calls = tuple(_tool_call(one) for one in _mappings(raw.get("tool_calls")))
    return Message(str(raw.get("role", "")), _text(raw.get("content")), calls, str(raw.get("tool_call_id") or ""))


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in _mappings(cast(object, content)))
    return content if isinstance(content, str) else ""


def _tool_call(raw: Mapping[str, Any]) -> ToolCall:
    function = _mapping(raw.get("function"))
    return ToolCall(str(function.get("name", "")), str(function.get("arguments", "")), str(raw.get("id", "")))


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    entries = cast(list[object], value) if isinstance(value, list) else []
    return [cast(Mapping[str, Any], entry) for entry in entries if isinstance(entry, Mapping)]

"""What a model was asked: the request's body as values, for callables that answer and for what a reply demands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

CHARACTERS_PER_TOKEN = 4
SHOWN = 300


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


@dataclass(frozen=True, slots=True)
class Expectation:
    """Demands on a request; what is left out is not looked at.

    `contains` and `lacks` are plain texts, `matches` regular expressions (searched, `.` crosses no line); all three
    look at the messages' whole text. `last` are texts in the newest message alone. `tools` are names
    that must be offered, or whether any may be. `response_format` is its type, or whether one may be there.
    """

    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    tools: tuple[str, ...] | bool | None = None
    response_format: str | bool | None = None

    def __post_init__(self) -> None:
        """Raises re.error for what is no regular expression: here, not in the middle of a conversation."""
        for pattern in self.matches:
            re.compile(pattern)

    def failures(self, call: ModelCall) -> list[str]:
        """What is not as demanded, a sentence each."""
        return [*self._in_texts(call), *self._in_tools(call), *self._in_format(call)]

    def _in_texts(self, call: ModelCall) -> Iterator[str]:
        text, newest = call.text, call.last.text
        yield from (f"the messages lack {one!r}{_end(text)}" for one in self.contains if one not in text)
        yield from (f"the messages contain {one!r}" for one in self.lacks if one in text)
        yield from (f"the messages don't match {one!r}{_end(text)}" for one in self.matches if not re.search(one, text))
        yield from (f"the last message lacks {one!r}{_end(newest)}" for one in self.last if one not in newest)

    def _in_tools(self, call: ModelCall) -> Iterator[str]:
        if isinstance(self.tools, bool):
            if self.tools != bool(call.tools):
                yield f"tools were expected: {self.tools}, offered are {list(call.tools)}"
        elif missing := [name for name in self.tools or () if name not in call.tools]:
            yield f"the tools {missing} are not offered, offered are {list(call.tools)}"

    def _in_format(self, call: ModelCall) -> Iterator[str]:
        found = "" if call.response_format is None else str(call.response_format.get("type", ""))
        if isinstance(self.response_format, bool):
            if self.response_format != (call.response_format is not None):
                yield f"a response_format was expected: {self.response_format}, found is {found or 'none'}"
        elif self.response_format is not None and self.response_format != found:
            yield f"the response_format is {found or 'missing'}, not {self.response_format}"


def _end(text: str) -> str:
    return f"; they end with {text[-SHOWN:]!r}"


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

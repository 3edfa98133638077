"""Tools in words, for models that have no tool calls of their own: an action object stands for a call."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from donewhen.core.calls import Message, ToolCall
from donewhen.ports import ModelRequest, ToolSpec

_HOW = """\
You work with tools. To use one, reply with a single JSON object and nothing else:
{"say": "one line on what you do", "tool": "<name>", "arguments": {...}}
Its result comes as the next message. The tools, each with the JSON schema of its arguments:"""
_RESULT = "Result of the tool:\n"
_FENCE = re.compile(r"```(?:json)?\s*+(?=\{)")


def in_words(request: ModelRequest) -> ModelRequest:
    """The same question without tool calls: they are told, and asked for, as text. Not streamed: nobody wants to read
    the object grow."""
    if not request.tools:
        return request
    schema = _action(request.tools) if request.schema is None else {"type": "object"}
    messages = _told([_worded(one) for one in request.messages], request.tools)
    stable = request.stable + len(messages) - len(request.messages) if request.stable else 0
    return replace(request, messages=messages, tools=(), schema=schema, stream=False, stable=stable)


def as_calls(message: Message, tools: Sequence[ToolSpec]) -> Message:
    """The message with the call that its action object stands for; as it is where it holds none."""
    if message.calls or (found := _object(message.text)) is None:
        return message
    name, arguments = found.get("tool"), found.get("arguments", {})
    if name not in {one.name for one in tools}:
        return message
    text = found.get("say")
    call = ToolCall(f"call_{secrets.token_hex(6)}", name, json.dumps(arguments, ensure_ascii=False))
    return Message("assistant", text if isinstance(text, str) else "", (call,))


def _action(tools: Iterable[ToolSpec]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "say": {"type": "string"},
            "tool": {"type": "string", "enum": [one.name for one in tools]},
            "arguments": {"type": "object"},
        },
        "required": ["tool", "arguments"],
    }


def _told(messages: list[Message], tools: Iterable[ToolSpec]) -> list[Message]:
    """The tools become a part of the system message, which stays the same from call to call."""
    lines = [f"- {one.name}: {one.description}\n  {json.dumps(dict(one.parameters))}" for one in tools]
    text = "\n".join([_HOW, *lines])
    if messages and messages[0].role == "system":
        return [replace(messages[0], text=f"{messages[0].text}\n\n{text}"), *messages[1:]]
    return [Message("system", text), *messages]


def _worded(message: Message) -> Message:
    if message.role == "tool":
        return Message("user", _RESULT + message.text)
    if message.calls:
        return Message("assistant", "\n".join(_words(message.text, call) for call in message.calls))
    return message


def _words(say: str, call: ToolCall) -> str:
    arguments: Any = call.arguments
    with suppress(ValueError):
        arguments = json.loads(call.arguments)
    return json.dumps({"say": say, "tool": call.name, "arguments": arguments}, ensure_ascii=False)


def _object(text: str) -> Mapping[str, Any] | None:
    for candidate in (text, *_fenced(text)):
        with suppress(ValueError):
            found = json.loads(candidate)
            if isinstance(found, dict):
                return cast(Mapping[str, Any], found)
    return None


def _fenced(text: str) -> Sequence[str]:
    """What stands in a code fence: to its first end, and to the last one, for an object may hold a fence itself."""
    opened = _FENCE.search(text)
    if opened is None:
        return ()
    inside = text[opened.end() :]
    return inside.partition("```")[0], inside.rpartition("```")[0]

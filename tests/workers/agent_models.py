"""A model that answers from a script, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from donewhen.core.calls import Message, ToolCall
from donewhen.core.work import Usage
from donewhen.ports import ModelFacts, ModelReply, ModelRequest

Reply = ModelReply | Exception
Script = Iterable[Reply | Callable[[ModelRequest], Reply]]


@dataclass
class ScriptedModel:
    """`ports.Model`: each request takes the next reply of the script, an exception is raised. `streams` are the texts
    that are heard before each reply."""

    script: Script
    facts: ModelFacts = field(default_factory=ModelFacts)
    name: str = "scripted/model"
    streams: tuple[str, ...] = ()
    requests: list[ModelRequest] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    keep: bool = True
    _replies: Iterator[Reply | Callable[[ModelRequest], Reply]] | None = None

    def estimate(self, request: ModelRequest) -> tuple[Usage, Usage]:
        size = sum(len(message.text) for message in request.messages) // 4
        return Usage(size, usd=None), Usage(size, 1_000, usd=None)

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        self.sizes.append(prompt_size(request))
        if self.keep:
            self.requests.append(request)
        for text in self.streams:
            if on_text:
                on_text(text)
        if self._replies is None:
            self._replies = iter(self.script)
        reply = next(self._replies, None)
        if callable(reply):
            reply = reply(request)
        if reply is None:
            raise AssertionError("the script ran out")
        if isinstance(reply, Exception):
            raise reply
        return reply


def prompt_size(request: ModelRequest) -> int:
    """Bytes of all that a request says."""
    said = sum(
        len(m.text.encode()) + sum(len(c.name) + len(c.arguments.encode()) for c in m.calls) for m in request.messages
    )
    return said + sum(len(json.dumps(dict(tool.parameters))) + len(tool.description) for tool in request.tools)


def call(name: str, *, id: str = "", **arguments: object) -> ToolCall:
    return ToolCall(id or f"c-{name}", name, json.dumps(arguments))


def calls(*wanted: ToolCall, text: str = "", usage: Usage | None = None) -> ModelReply:
    numbered = tuple(ToolCall(f"{one.id}-{at}", one.name, one.arguments) for at, one in enumerate(wanted))
    return ModelReply(Message("assistant", text, numbered), usage or Usage(100, 10), "tool_calls")


def use(name: str, **arguments: object) -> ModelReply:
    """A reply with one tool call."""
    return calls(call(name, **arguments))


def says(text: str, finish: str = "stop") -> ModelReply:
    return ModelReply(Message("assistant", text), Usage(100, 10), finish)


def report(state: str = "finished", text: str = "done") -> ModelReply:
    return use("report", state=state, text=text)

"""What a scripted model answers: values, and the words that tests write them with.

says("It is done.")
calls("run_command", command="pytest").expecting("Make the tests pass", tools=["run_command"])
fails(429, retry_after=0.1)
says("a long text").after(0.2).paced(0.01)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from donewhen.testing.models.calls import ToolCall
from donewhen.testing.models.expectations import Expectation


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent, `delay` seconds after the request came, `pace` seconds between two events of a stream."""

    act: Act
    delay: float = 0.0
    pace: float = 0.0
    expectation: Expectation | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def after(self, seconds: float) -> Reply:
        """The same, with a delay before its first byte."""
        return replace(self, delay=seconds)

    def paced(self, seconds: float) -> Reply:
        """The same, with a pause between two events of a stream."""
        return replace(self, pace=seconds)

    def expecting(
        self,
        *contains: str,
        lacks: Sequence[str] = (),
        matches: Sequence[str] = (),
        matches_not: Sequence[str] = (),
        last: Sequence[str] = (),
        tools: Sequence[str] | bool | None = None,
        response_format: str | bool | None = None,
    ) -> Reply:
        """The same, only for a request that is as demanded; any other gets status 500 and is noted as a failure."""
        names = tools if tools is None or isinstance(tools, bool) else _texts(tools)
        expectation = Expectation(
            contains, _texts(lacks), _texts(matches), _texts(matches_not), _texts(last), names, response_format
        )
        return replace(self, expectation=expectation)

    def spending(self, prompt: int | None = None, completion: int | None = None, cached: int = 0) -> Reply:
        """The same with these token counts; None: a quarter of the characters. Only an answer counts tokens."""
        if not isinstance(self.act, Answer):
            raise TypeError("only says(), calls() and calls_all() make a reply that counts tokens")
        return replace(self, act=replace(self.act, usage=TokenCounts(prompt, completion, cached)))


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens as the provider counts them, None for an estimate. `cached` is a part of `prompt`."""

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A completion. An empty `finish_reason` stands for `tool_calls` or `stop`, as fits; `piece` is in characters."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: TokenCounts = TokenCounts()
    finish_reason: str = ""
    piece: int = 24


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in OpenAI's shape."""

    status: int
    message: str
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Bytes as they are. `stream` is for a request that streams, None for the same."""

    body: bytes
    stream: bytes | None = None
    content_type: str = "application/json"
    status: int = 200


@dataclass(frozen=True, slots=True)
class Interrupted:
    """An answer that stops after some events (half of the body where it isn't streamed; 0: nothing is sent at all).

    It then drops the connection, hangs until the client leaves, or sends an error as an event.
    """

    answer: Answer
    events: int
    ending: Literal["drop", "hang", "error"]


@dataclass(frozen=True, slots=True)
class Endless:
    """A stream that repeats `piece` until the client leaves; a plain request waits as long for nothing."""

    piece: str


Act = Answer | Failure | Verbatim | Interrupted | Endless


def says(text: str, *, reasoning: str = "", finish_reason: str = "", piece: int = 24) -> Reply:
    """A text; `piece` characters of it in each event of a stream."""
    return Reply(Answer(text, reasoning=reasoning, finish_reason=finish_reason, piece=piece))


def calls(name: str, /, **arguments: Any) -> Reply:
    """One call of a tool."""
    return calls_all(tool(name, **arguments))


def calls_all(*tool_calls: ToolCall, text: str = "", reasoning: str = "", finish_reason: str = "") -> Reply:
    """Several calls of tools at once, with a text before them."""
    return Reply(Answer(text, tool_calls, reasoning, finish_reason=finish_reason))


def tool(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(name, json.dumps(arguments, ensure_ascii=False))


def raw_tool(name: str, arguments: str) -> ToolCall:
    """A call whose arguments are any text, broken JSON for one."""
    return ToolCall(name, arguments)


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    """A single text counts as a sequence of one: its letters are never meant."""
    return (values,) if isinstance(values, str) else tuple(values)

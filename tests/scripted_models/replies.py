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

from tests.scripted_models.calls import Expectation, ToolCall

RATE_LIMITED = "Rate limit reached for requests. Please try again later."
SERVER_ERROR = "The server had an error while processing your request. Sorry about that!"
HALF_OF_A_BODY = (
    '{"id": "chatcmpl-half", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assist'
)
PAGE = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_KINDS: dict[int, tuple[str, str, str | None]] = {
    401: ("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    403: ("You are not allowed to use this model.", "invalid_request_error", None),
    404: ("The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found"),
    429: (RATE_LIMITED, "requests", "rate_limit_exceeded"),
    503: ("The engine is currently overloaded, please try again later.", "server_error", None),
}


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
        last: Sequence[str] = (),
        tools: Sequence[str] | bool | None = None,
        response_format: str | bool | None = None,
    ) -> Reply:
        """The same, only for a request that is as demanded; any other gets status 500 and is noted as a failure."""
        names = tools if tools is None or isinstance(tools, bool) else _texts(tools)
        expectation = Expectation(contains, _texts(lacks), _texts(matches), _texts(last), names, response_format)
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


# ---- replies that go wrong, in the shapes that the real service gives them


def fails(
    status: int,
    message: str = "",
    *,
    retry_after: float | str | None = None,
    code: str | None = None,
    type: str = "",
    param: str | None = None,
) -> Reply:
    """An error in OpenAI's shape. `retry_after` is in seconds, or an HTTP date."""
    fallback = (SERVER_ERROR, "server_error", None) if status >= 500 else ("The request is invalid.", "", None)
    known_message, known_type, known_code = _KINDS.get(status, fallback)
    kind = type or known_type or "invalid_request_error"
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after}"}
    return Reply(Failure(status, message or known_message, kind, param, code or known_code), headers=headers)


def out_of_quota() -> Reply:
    """A 429 that no waiting helps with."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return fails(429, message, type="insufficient_quota", code="insufficient_quota")


def context_exceeded(window: int = 8192, asked: int = 9000) -> Reply:
    """The conversation is longer than the model's window."""
    message = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in {asked} tokens. "
        "Please reduce the length of the messages."
    )
    return fails(400, message, param="messages", code="context_length_exceeded")


def unsupported(parameter: str) -> Reply:
    """The model refuses a parameter, such as `response_format`, `tools` or `temperature`."""
    message = f"Unsupported parameter: '{parameter}' is not supported with this model."
    return fails(400, message, param=parameter, code="unsupported_parameter")


def html(status: int = 200) -> Reply:
    """A proxy's page where JSON belongs."""
    return Reply(Verbatim(PAGE.encode(), content_type="text/html; charset=utf-8", status=status))


def truncated() -> Reply:
    """A whole HTTP message whose JSON stops in the middle."""
    return Reply(Verbatim(HALF_OF_A_BODY.encode(), f"data: {HALF_OF_A_BODY}\n\ndata: [DONE]\n\n".encode()))


def verbatim(body: bytes | str, *, status: int = 200, content_type: str = "application/json") -> Reply:
    """Any body."""
    return Reply(Verbatim(body.encode() if isinstance(body, str) else body, content_type=content_type, status=status))


def drops(after_events: int = 0, text: str = "This reply is cut off before its end.") -> Reply:
    """The connection closes: before any byte, or after some events of a stream (half of a plain body)."""
    return Reply(Interrupted(Answer(text), after_events, "drop"))


def hangs(after_events: int = 0, text: str = "This reply stops, and nothing follows.") -> Reply:
    """Nothing more comes, and the connection stays open."""
    return Reply(Interrupted(Answer(text), after_events, "hang"))


def breaks(after_events: int = 2, text: str = "This reply ends in an error.") -> Reply:
    """A stream that began well reports an error as an event; a plain request gets status 500."""
    return Reply(Interrupted(Answer(text), after_events, "error"))


def never_ends(piece: str = "and so on ", pace: float = 0.005) -> Reply:
    """A stream that goes on until the client leaves."""
    return Reply(Endless(piece), pace=pace)


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    """A single text counts as a sequence of one: its letters are never meant."""
    return (values,) if isinstance(values, str) else tuple(values)

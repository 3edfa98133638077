"""The messages between the server and its model host: values, and their form as lines of JSON.

To the host: `{"ask": id, ...}` with the fields of a `Call`, and `{"cancel": id}`. From the host: `{"ready": seconds}`
or `{"unusable": why}`, then `{"id", "text"}` and `{"id", "alive"}` while a streamed reply grows, and either
`{"id", "reply"}` or `{"id", "failed"}` for each call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from donewhen.core.calls import Message, ToolCall


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt to ask a model. `parameters` are litellm's own, such as `tools` and `temperature`; `marks` are the
    messages after which a provider should cache the prompt; `timeout` is how many seconds may pass before
    anything comes of the reply (all of it where it isn't streamed), `silence` how many may pass from then on."""

    model: str
    messages: tuple[Message, ...]
    key: str | None = field(default=None, repr=False)
    api_base: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    marks: tuple[int, ...] = ()
    stream: bool = False
    timeout: float = 300.0
    silence: float = 300.0


@dataclass(frozen=True, slots=True)
class Answered:
    """A model's reply as its client reports it. Of the tokens of the prompt, `cached_tokens` were read from the
    provider's cache, and `written_tokens` written to it."""

    message: Message
    finish: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    written_tokens: int = 0


Network = Literal["", "no_host", "refused", "not_connected", "broken_off"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed, as its client reports it. `type` is the exception's name, `retry_after` the unchanged header,
    `network` why there was no connection, or why it ended."""

    type: str
    message: str
    status: int | None = None
    code: str = ""
    retry_after: str = ""
    network: Network = ""


class CallFailed(Exception):
    """The host asked the model and got no reply."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def call_out(call: Call) -> dict[str, Any]:
    """The fields of a call; nothing else is copied, as `asdict` would."""
    out: dict[str, Any] = {one.name: getattr(call, one.name) for one in fields(call)}
    return {**out, "messages": [message_out(one) for one in call.messages]}


def call_in(raw: Mapping[str, Any]) -> Call:
    given: dict[str, Any] = {**raw, "messages": tuple(message_in(one) for one in raw["messages"])}
    return Call(**given)


def message_out(message: Message) -> dict[str, Any]:
    """A message in JSON, for the host and for the editor; empty fields are left out."""
    out: dict[str, Any] = {"role": message.role, "text": message.text}
    if message.calls:
        out["calls"] = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in message.calls]
    if message.answers:
        out["answers"] = message.answers
    return out


def message_in(raw: Mapping[str, Any]) -> Message:
    calls = tuple(ToolCall(**call) for call in raw.get("calls", ()))
    return Message(raw["role"], raw["text"], calls, raw.get("answers", ""))


def answered_in(raw: Mapping[str, Any]) -> Answered:
    fields: dict[str, Any] = {**raw, "message": message_in(raw["message"])}
    return Answered(**fields)

"""The calls themselves: the only place that imports litellm."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

_SEND_EVERY = 0.04
LONGEST_REPLY = 4_000_000
"""Characters; ten times the length of the longest replies of models."""
_NOTHING = "(nothing)"
"""Replaces an assistant's empty message, which some providers refuse."""


class Asking:
    """litellm, imported and configured to be quiet, offline and without retries of its own."""

    def __init__(self) -> None:
        gc.disable()  # saves 40 % of the import time
        try:
            self._litellm: Any = importlib.import_module("litellm")
        finally:
            gc.freeze()
            gc.enable()
        self._litellm.suppress_debug_info = True
        self._litellm.disable_hf_tokenizer_download = True
        self._litellm.telemetry = False
        self._litellm.drop_params = True
        self._litellm.num_retries = 0

    async def warm_up(self) -> None:
        """Performs, against this process itself, the slow start of a first call: litellm loads half of its code only
        then."""
        from donewhen.models.host_warmup import Mirror

        with suppress(Exception):
            async with Mirror() as mirror, asyncio.timeout(5):
                for stream in (False, True):
                    await self.ask(mirror.question(stream), [{"role": "user", "text": "?"}], lambda _: None)

    async def ask(
        self, asked: Mapping[str, Any], messages: list[Mapping[str, Any]], on_text: Callable[[str], None]
    ) -> dict[str, Any]:
        """The reply in the form of `protocol.Answered`. Raises whatever litellm raises."""
        response = await self._litellm.acompletion(**_arguments(asked, messages))
        if response is None:
            raise UnprocessableError("the provider refused the request's parameters (422)")
        reply = await _Stream(on_text).gather(response) if asked["stream"] else _whole(response)
        reply["cost"] = self._cost(asked["model"], reply.pop("usage_object"))
        _refuse_endless(len(reply["text"]) + sum(len(call[2]) for call in reply["calls"]))
        return reply

    def _cost(self, model: str, usage: Any) -> float | None:
        if usage is None:
            return None
        with suppress(Exception):
            said = self._litellm.ModelResponse(model=model, usage=usage)
            return self._litellm.completion_cost(completion_response=said, model=model)
        return None


class UnprocessableError(Exception):
    """litellm shortened a request and then gave up on it without saying so."""

    status_code = 422


class EndlessReplyError(Exception):
    """The reply is longer than any model's should be; the server reads each reply as a whole, so length is limited."""

    status_code = 422


def _refuse_endless(characters: int) -> None:
    if characters > LONGEST_REPLY:
        raise EndlessReplyError(f"its reply has no end: more than {LONGEST_REPLY:,} characters")


class EmptyReplyError(Exception):
    """A reply without any content. litellm takes an HTML page for a stream without events, and does the same with a
    complete reply to a request for a stream: `Abilities.without_stream` then stops asking for streams."""


def _arguments(asked: Mapping[str, Any], messages: list[Mapping[str, Any]]) -> dict[str, Any]:
    marks = set(asked["marks"])
    arguments: dict[str, Any] = {
        "model": asked["model"],
        "messages": [_message(one, marked=index in marks) for index, one in enumerate(messages)],
        "timeout": asked["timeout"],
        "max_retries": 0,
        "num_retries": 0,
        "drop_params": True,
        **asked["parameters"],
    }
    for name, value in (("api_key", asked["key"]), ("api_base", asked["api_base"])):
        if value:
            arguments[name] = value
    if asked["stream"]:
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
    return arguments


def _message(raw: Mapping[str, Any], *, marked: bool) -> dict[str, Any]:
    """A new message, never one that litellm handed out, because its private fields would be sent along."""
    text, calls = raw["text"], raw.get("calls", ())
    content: Any = text or (None if calls else _NOTHING if raw["role"] == "assistant" else "")
    if marked and content:
        content = [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
    message: dict[str, Any] = {"role": raw["role"], "content": content}
    if calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": _object(arguments)}}
            for id_, name, arguments in calls
        ]
    if raw.get("answers"):
        message["tool_call_id"] = raw["answers"]
    return message


def _object(arguments: str) -> str:
    """The arguments that a model wrote, in the form that providers take back: a JSON object."""
    with suppress(ValueError):
        if isinstance(json.loads(arguments), dict):
            return arguments
    return json.dumps({"not_json": arguments}) if arguments.strip() else "{}"


def _whole(response: Any) -> dict[str, Any]:
    if not response.choices:
        raise EmptyReplyError("the reply held no choices")
    choice = response.choices[0]
    usage = getattr(response, "usage", None)
    return {
        "text": choice.message.content or "",
        "calls": [
            [call.id or _new_id(), call.function.name or "", call.function.arguments or ""]
            for call in choice.message.tool_calls or ()
        ],
        "finish": choice.finish_reason or "stop",
        **_tokens(usage),
        "usage_object": usage,
    }


def _new_id() -> str:
    """Some servers give a call no id, but its answer needs one."""
    return f"call_{secrets.token_hex(6)}"


def _tokens(usage: Any) -> dict[str, int]:
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or getattr(usage, "cache_read_input_tokens", None)
    return {
        "input": getattr(usage, "prompt_tokens", None) or 0,
        "output": getattr(usage, "completion_tokens", None) or 0,
        "cached": cached or 0,
    }


@dataclass(slots=True)
class _Stream:
    """A reply that grows. New text is sent at most every 40 ms."""

    on_text: Callable[[str], None]
    texts: list[str] = field(default_factory=list[str])
    unsent: list[str] = field(default_factory=list[str])
    calls: list[list[str]] = field(default_factory=list[list[str]])
    growing: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    finish: str = ""
    usage: Any = None
    sent_at: float = 0.0
    size: int = 0

    async def gather(self, chunks: Any) -> dict[str, Any]:
        try:
            async for chunk in chunks:
                self._take(chunk)
        finally:
            with suppress(Exception):
                await chunks.aclose()
        if self.usage is None and not self.texts and not self.calls:
            raise EmptyReplyError("the stream held no reply: a proxy's page, or a connection that was dropped")
        if self.unsent:
            self.on_text("".join(self.unsent))
        return {
            "text": "".join(self.texts),
            "calls": [[id_ or _new_id(), name, arguments] for id_, name, arguments in self.calls],
            "finish": self.finish or "stop",
            **_tokens(self.usage),
            "usage_object": self.usage,
        }

    def _take(self, chunk: Any) -> None:
        self.usage = getattr(chunk, "usage", None) or self.usage
        if not chunk.choices:
            return
        choice = chunk.choices[0]
        self.finish = choice.finish_reason or self.finish
        for part in choice.delta.tool_calls or ():
            self._add_call(part)
        if choice.delta.content:
            self._add_text(choice.delta.content)
        _refuse_endless(self.size)

    def _add_text(self, text: str) -> None:
        self.size += len(text)
        self.texts.append(text)
        self.unsent.append(text)
        now = time.monotonic()
        if now - self.sent_at >= _SEND_EVERY:
            self.on_text("".join(self.unsent))
            self.unsent.clear()
            self.sent_at = now

    def _add_call(self, part: Any) -> None:
        index = part.index or 0
        call = self.growing.get(index)
        if call is None or (part.id and call[0] and part.id != call[0]):  # some servers number every call 0
            call = self.growing[index] = ["", "", ""]
            self.calls.append(call)
        call[0] = part.id or call[0]
        call[1] += part.function.name or ""
        call[2] += part.function.arguments or ""
        self.size += len(part.function.arguments or "")

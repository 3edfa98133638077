"""OpenAI's shapes: the body of a reply, as a plan of pieces and pauses."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.scripted_models.calls import ModelCall, tokens
from tests.scripted_models.replies import Answer, Endless, Failure, Interrupted, Reply, Verbatim

Ending = Literal["end", "drop", "hang"]
_DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent: the pieces in order, `pace` seconds between two; then the connection stays, closes or hangs.

    `length` is the body's in bytes, None for a stream in chunks. Without a status nothing is sent at all.
    """

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Iterable[bytes] = ()
    length: int | None = None
    delay: float = 0.0
    pace: float = 0.0
    ending: Ending = "end"


def plan(reply: Reply, call: ModelCall, created: int) -> Plan:
    """How a reply goes out for that request; `created` is in seconds since 1970."""
    return replace(_Writing(reply, call, created).plan(), delay=reply.delay, pace=reply.pace)


def failure_plan(failure: Failure, headers: Mapping[str, str] | None = None) -> Plan:
    return whole(failure.status, _bytes(_error(failure)), headers=headers)


def whole(
    status: int, body: bytes, content_type: str = "application/json", headers: Mapping[str, str] | None = None
) -> Plan:
    """A message of a known length."""
    return Plan(status, {"Content-Type": content_type, **(headers or {})}, (body,), len(body))


def models_body(names: Iterable[str]) -> bytes:
    """The list that `GET /v1/models` gives."""
    entries = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in names]
    return _bytes({"object": "list", "data": entries})


class _Writing:
    """One reply to one request, on its way to bytes."""

    def __init__(self, reply: Reply, call: ModelCall, created: int) -> None:
        self._reply = reply
        self._call = call
        self._created = created

    def plan(self) -> Plan:
        match self._reply.act:
            case Answer() as answer:
                return self._answer(answer)
            case Failure() as failure:
                return failure_plan(failure, self._reply.headers)
            case Verbatim() as verbatim:
                return self._verbatim(verbatim)
            case Interrupted() as interrupted:
                return self._interrupted(interrupted)
            case Endless() as endless:
                return self._endless(endless)

    def _answer(self, answer: Answer) -> Plan:
        if not self._call.streams:
            return whole(200, _bytes(self._completion(answer)), headers=self._reply.headers)
        events = [*self._events(answer), _DONE]
        if self._reply.pace:
            return self._stream(events)
        return self._stream((b"".join(events),))

    def _verbatim(self, act: Verbatim) -> Plan:
        if not self._call.streams or act.stream is None:
            return whole(act.status, act.body, act.content_type, self._reply.headers)
        return whole(act.status, act.stream, "text/event-stream; charset=utf-8", self._reply.headers)

    def _interrupted(self, act: Interrupted) -> Plan:
        if act.ending == "error":
            return self._error_inside(act)
        if not act.events:
            return Plan(None, ending=act.ending)
        if self._call.streams:
            events = itertools.islice(self._events(act.answer), act.events)
            return replace(self._stream(events), ending=act.ending)
        made = self._answer(act.answer)
        (body,) = made.pieces
        return replace(made, pieces=(body[: len(body) // 2],), ending=act.ending)

    def _error_inside(self, act: Interrupted) -> Plan:
        failure = Failure(500, "The server had an error while processing your request.", "server_error")
        if not self._call.streams:
            return failure_plan(failure, self._reply.headers)
        events = itertools.islice(self._events(act.answer), act.events)
        return self._stream((*events, _event(_error(failure))))

    def _endless(self, act: Endless) -> Plan:
        if not self._call.streams:
            return Plan(None, ending="hang")
        again = _event(self._chunk({"content": act.piece}))
        return self._stream(itertools.chain((self._opening(),), itertools.repeat(again)))

    # ---- streams

    def _stream(self, pieces: Iterable[bytes]) -> Plan:
        fields = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
        return Plan(200, {**fields, **self._reply.headers}, pieces)

    def _events(self, answer: Answer) -> Iterator[bytes]:
        """The events of a whole answer, without the mark of the end."""
        yield self._opening()
        for key, text in (("reasoning_content", answer.reasoning), ("content", answer.text)):
            for piece in _cut(text, answer.piece):
                yield _event(self._chunk({key: piece}))
        for index, delta in self._tool_deltas(answer):
            yield _event(self._chunk({"tool_calls": [{"index": index, **delta}]}))
        yield _event(self._chunk({}, _finish(answer)))
        if self._call.wants_usage:
            yield _event({**self._envelope("chat.completion.chunk"), "choices": [], "usage": self._usage(answer)})

    def _opening(self) -> bytes:
        return _event(self._chunk({"role": "assistant", "content": ""}))

    def _tool_deltas(self, answer: Answer) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, entry in enumerate(self._tool_calls(answer)):
            yield index, {**entry, "function": {"name": entry["function"]["name"], "arguments": ""}}
            for piece in _cut(entry["function"]["arguments"], answer.piece):
                yield index, {"function": {"arguments": piece}}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._call.wants_usage else {}
        return {**self._envelope("chat.completion.chunk"), "choices": [choice], **usage}

    # ---- parts of both

    def _completion(self, answer: Answer) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.tool_calls:
            message["tool_calls"] = self._tool_calls(answer)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
        return {**self._envelope("chat.completion"), "choices": [choice], "usage": self._usage(answer)}

    def _envelope(self, kind: str) -> dict[str, Any]:
        name = f"chatcmpl-scripted-{self._call.number}"
        return {"id": name, "object": kind, "created": self._created, "model": self._call.model}

    def _tool_calls(self, answer: Answer) -> list[dict[str, Any]]:
        return [
            {
                "id": one.id or f"call_{self._call.number}_{index}",
                "type": "function",
                "function": {"name": one.name, "arguments": one.arguments},
            }
            for index, one in enumerate(answer.tool_calls, 1)
        ]

    def _usage(self, answer: Answer) -> dict[str, Any]:
        counts = answer.usage
        prompt = self._call.prompt_tokens if counts.prompt is None else counts.prompt
        completion = _completion_tokens(answer) if counts.completion is None else counts.completion
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": counts.cached},
            "completion_tokens_details": {"reasoning_tokens": min(completion, tokens(len(answer.reasoning)))},
        }


def _completion_tokens(answer: Answer) -> int:
    called = sum(len(call.name) + len(call.arguments) for call in answer.tool_calls)
    return tokens(len(answer.text) + len(answer.reasoning) + called)


def _finish(answer: Answer) -> str:
    return answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")


def _error(failure: Failure) -> dict[str, Any]:
    shape = {"message": failure.message, "type": failure.type, "param": failure.param, "code": failure.code}
    return {"error": shape}


def _cut(text: str, length: int) -> Iterator[str]:
    return (text[start : start + length] for start in range(0, len(text), max(1, length)))


def _event(value: object) -> bytes:
    return b"data: " + _bytes(value) + b"\n\n"


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

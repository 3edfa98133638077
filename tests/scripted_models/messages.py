"""Anthropic's Messages API over the same scripts: for agents that take their models' address from ANTHROPIC_BASE_URL.

    with ScriptedMessages([calls("Bash", command="ls"), says("It is done.")]) as server:
        ...  # a program with ANTHROPIC_BASE_URL=server.root_url and any key
    server.verify()

Agents ask small things besides (a title, whether the key works), and offer no tool then: such a request is answered by
the part `BESIDE`, without one by a short text, and takes nothing from the script.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.scripted_models.calls import ModelCall, tokens
from tests.scripted_models.replies import Answer, Endless, Failure, Interrupted, Reply, Verbatim, says
from tests.scripted_models.script import ANY_MODEL, Playing
from tests.scripted_models.server import HOST, Exchange, ScriptedModels
from tests.scripted_models.shapes import Plan, whole

BESIDE = "beside"
"""The part that answers requests which offer no tools."""
_STOP = {"tool_calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}
_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


class ScriptedMessages(ScriptedModels):
    """Plays a script to whoever speaks the Messages API; everything else is as with `ScriptedModels`."""

    @property
    def root_url(self) -> str:
        """What ANTHROPIC_BASE_URL is set to."""
        return f"http://{HOST}:{self.port}"

    async def _plan(self, exchange: Exchange) -> Plan:
        method, path = exchange.method, exchange.path.rstrip("/")
        if method == "POST" and path == "/v1/messages":
            return await self._message(exchange)
        if method == "POST" and path == "/v1/messages/count_tokens":
            return whole(200, _bytes({"input_tokens": call_of(exchange.body, 0).prompt_tokens}))
        if method in ("GET", "HEAD") and path == "":
            return whole(200, b"" if method == "HEAD" else b"{}")
        return _failure(Failure(404, f"{method} {exchange.path} is not served here"))

    async def _message(self, exchange: Exchange) -> Plan:
        call = call_of(exchange.body, 1)
        part = self._parts.get(BESIDE) if not call.tools else self._parts.get(call.model, self._parts.get(ANY_MODEL))
        if not isinstance(part, Playing):
            return planned(says("ok"), call)
        part.asked += 1
        exchange.number = part.asked
        call = replace(call, number=part.asked)
        reply, exchange.failure = await part.reply(call)
        if exchange.failure:
            self.failures.append(exchange.failure)
        return planned(reply, call)


# ---- requests


def call_of(body: Mapping[str, Any], number: int) -> ModelCall:
    """A request as scripts see requests: `expecting` and callables look at it as at one of OpenAI's."""
    messages = [{"role": "system", "content": _text(body.get("system"))}] if body.get("system") else []
    for raw in body.get("messages") or []:
        messages += _converted(raw)
    offered = [{"type": "function", "function": {"name": one.get("name", "")}} for one in body.get("tools") or []]
    seen = {**body, "messages": messages, "tools": offered}
    return ModelCall(str(body.get("model", "")), number, seen)


def _converted(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Results of tools are messages of their own there."""
    content, role = message.get("content"), str(message.get("role", ""))
    if isinstance(content, str):
        yield {"role": role, "content": content}
        return
    blocks = [one for one in content or [] if isinstance(one, Mapping)]
    for one in blocks:
        if one.get("type") == "tool_result":
            yield {"role": "tool", "content": _text(one.get("content")), "tool_call_id": one.get("tool_use_id", "")}
    said = _text([one for one in blocks if one.get("type") == "text"])
    called = [
        {"id": one.get("id", ""), "function": {"name": one.get("name", ""), "arguments": json.dumps(one.get("input"))}}
        for one in blocks
        if one.get("type") == "tool_use"
    ]
    if said or called:
        yield {"role": role, "content": said, **({"tool_calls": called} if called else {})}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(one.get("text", "")) for one in blocks if isinstance(one, Mapping))


# ---- replies


def planned(reply: Reply, call: ModelCall) -> Plan:
    """How a reply goes out for that request."""
    return replace(_plan(reply, call), delay=reply.delay, pace=reply.pace)


def _plan(reply: Reply, call: ModelCall) -> Plan:
    match reply.act:
        case Answer() as answer if call.streams:
            events = _events(answer, call)
            return _stream(events if reply.pace else (b"".join(events),), reply)
        case Answer() as answer:
            return whole(200, _bytes(_message(answer, call)), headers=reply.headers)
        case Failure() as failure:
            return _failure(failure, reply.headers)
        case Verbatim() as verbatim:
            return whole(verbatim.status, verbatim.body, verbatim.content_type, reply.headers)
        case Interrupted() as cut if cut.ending == "error":
            error = _event("error", {"type": "error", "error": {"type": "api_error", "message": "Internal error"}})
            return _stream((*itertools.islice(_events(cut.answer, call), cut.events), error), reply)
        case Interrupted() as cut if cut.events:
            sent = _stream(itertools.islice(_events(cut.answer, call), cut.events), reply)
            return replace(sent, ending=cut.ending)
        case Interrupted() as cut:
            return Plan(None, ending=cut.ending)
        case Endless() as endless:
            begun = itertools.islice(_events(Answer("x"), call), 2)
            more = _delta(0, {"type": "text_delta", "text": endless.piece})
            return _stream(itertools.chain(begun, itertools.repeat(more)), reply)


def _failure(failure: Failure, headers: Mapping[str, str] | None = None) -> Plan:
    error = {"type": _KINDS.get(failure.status, "api_error"), "message": failure.message}
    return whole(failure.status, _bytes({"type": "error", "error": error}), headers=headers)


def _stream(pieces: Iterable[bytes], reply: Reply) -> Plan:
    return Plan(200, {"Content-Type": "text/event-stream; charset=utf-8", **reply.headers}, pieces)


def _blocks(answer: Answer, call: ModelCall) -> list[dict[str, Any]]:
    """The content of a whole message. Arguments that are no JSON object travel as an empty one: the API has no other
    way to say them."""
    said = [{"type": "text", "text": answer.text}] if answer.text or not answer.tool_calls else []
    return [
        *said,
        *(
            {
                "type": "tool_use",
                "id": one.id or f"toolu_{call.number}_{index}",
                "name": one.name,
                "input": json.loads(one.arguments),
            }
            for index, one in enumerate(answer.tool_calls, 1)
        ),
    ]


def _envelope(call: ModelCall) -> dict[str, Any]:
    return {"id": f"msg_scripted_{call.number}", "type": "message", "role": "assistant", "model": call.model}


def _stop(answer: Answer) -> str:
    return _STOP.get(answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop"), answer.finish_reason)


def _usage(answer: Answer, call: ModelCall) -> dict[str, int]:
    counts = answer.usage
    said = len(answer.text) + sum(len(one.name) + len(one.arguments) for one in answer.tool_calls)
    prompt = call.prompt_tokens if counts.prompt is None else counts.prompt
    completion = tokens(said) if counts.completion is None else counts.completion
    return {
        "input_tokens": prompt - counts.cached,
        "cache_read_input_tokens": counts.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": completion,
    }


def _message(answer: Answer, call: ModelCall) -> dict[str, Any]:
    end = {"stop_reason": _stop(answer), "stop_sequence": None, "usage": _usage(answer, call)}
    return {**_envelope(call), "content": _blocks(answer, call), **end}


def _events(answer: Answer, call: ModelCall) -> Iterator[bytes]:
    usage = _usage(answer, call)
    opening = {**_envelope(call), "content": [], "stop_reason": None, "stop_sequence": None}
    yield _event("message_start", {"message": {**opening, "usage": {**usage, "output_tokens": 1}}})
    for index, block in enumerate(_blocks(answer, call)):
        if block["type"] == "text":
            yield _event("content_block_start", {"index": index, "content_block": {"type": "text", "text": ""}})
            for start in range(0, len(answer.text), max(1, answer.piece)):
                yield _delta(index, {"type": "text_delta", "text": answer.text[start : start + answer.piece]})
        else:
            yield _event("content_block_start", {"index": index, "content_block": {**block, "input": {}}})
            yield _delta(index, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
        yield _event("content_block_stop", {"index": index})
    ended = {"stop_reason": _stop(answer), "stop_sequence": None}
    yield _event("message_delta", {"delta": ended, "usage": {"output_tokens": usage["output_tokens"]}})
    yield _event("message_stop", {})


def _delta(index: int, delta: Mapping[str, Any]) -> bytes:
    return _event("content_block_delta", {"index": index, "delta": delta})


def _event(name: str, fields: Mapping[str, Any]) -> bytes:
    return f"event: {name}\n".encode() + b"data: " + _bytes({"type": name, **fields}) + b"\n\n"


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

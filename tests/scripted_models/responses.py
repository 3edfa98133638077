"""OpenAI's Responses API over the same scripts: for agents that speak nothing else, such as Codex.

    with ScriptedResponses([calls("exec_command", cmd="ls"), says("It is done.")]) as server:
        ...  # a program whose provider is served at server.base_url
    server.verify()

A request that offers no tools is a small thing beside the work (a title): a short text answers it, and it takes nothing
from the script.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.scripted_models.calls import ModelCall, tokens
from tests.scripted_models.replies import Answer, Failure, Reply, Verbatim, says
from tests.scripted_models.script import ANY_MODEL, Playing
from tests.scripted_models.server import Exchange, ScriptedModels
from tests.scripted_models.shapes import Plan, failure_plan, models_body, whole


class ScriptedResponses(ScriptedModels):
    """Plays a script to whoever speaks the Responses API; everything else is as with `ScriptedModels`."""

    async def _plan(self, exchange: Exchange) -> Plan:
        method, path = exchange.method, exchange.path.rstrip("/")
        if method == "POST" and path == "/v1/responses":
            return await self._response(exchange)
        if (method, path) == ("GET", "/v1/models"):
            return whole(200, models_body(()))
        return failure_plan(Failure(404, f"{method} {exchange.path} is not served here"))

    async def _response(self, exchange: Exchange) -> Plan:
        call = call_of(exchange.body, 1)
        part = self._parts.get(call.model, self._parts.get(ANY_MODEL))
        if not call.tools or not isinstance(part, Playing):
            return planned(says("ok"), call)
        part.asked += 1
        exchange.number = part.asked
        call = replace(call, number=part.asked)
        reply, exchange.failure = await part.reply(call)
        if exchange.failure:
            self.failures.append(exchange.failure)
        return planned(reply, call)


def call_of(body: Mapping[str, Any], number: int) -> ModelCall:
    """A request as scripts see requests."""
    messages: list[dict[str, Any]] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": body["instructions"]})
    given = body.get("input")
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given or []:
        messages += _converted(item)
    offered = [{"type": "function", "function": {"name": one.get("name", "")}} for one in body.get("tools") or []]
    return ModelCall(str(body.get("model", "")), number, {**body, "messages": messages, "tools": offered})


def _converted(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = item.get("type", "message")
    if kind == "message":
        yield {"role": str(item.get("role", "")), "content": _text(item.get("content"))}
    elif kind in ("function_call", "custom_tool_call"):
        called = {"name": item.get("name", ""), "arguments": item.get("arguments", item.get("input", ""))}
        yield {"role": "assistant", "content": "", "tool_calls": [{"id": item.get("call_id", ""), "function": called}]}
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield {"role": "tool", "content": _text(item.get("output")), "tool_call_id": item.get("call_id", "")}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(one.get("text", "")) for one in blocks if isinstance(one, Mapping))


def planned(reply: Reply, call: ModelCall) -> Plan:
    """How a reply goes out for that request."""
    match reply.act:
        case Answer() as answer:
            made = _answered(answer, call, reply.headers)
        case Failure() as failure:
            made = failure_plan(failure, reply.headers)
        case Verbatim() as verbatim:
            made = whole(verbatim.status, verbatim.body, verbatim.content_type, reply.headers)
        case other:
            raise NotImplementedError(f"{other} is not played in this API")
    return replace(made, delay=reply.delay, pace=reply.pace)


def _answered(answer: Answer, call: ModelCall, headers: Mapping[str, str]) -> Plan:
    response = _response(answer, call)
    if not call.streams:
        return whole(200, _bytes(response), headers=headers)
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events = [_event("response.created", {"response": begun})]
    for index, item in enumerate(response["output"]):
        events.append(_event("response.output_item.added", {"output_index": index, "item": item}))
        events.append(_event("response.output_item.done", {"output_index": index, "item": item}))
    events.append(_event("response.completed", {"response": response}))
    return Plan(200, {"Content-Type": "text/event-stream; charset=utf-8", **headers}, (b"".join(events),))


def _response(answer: Answer, call: ModelCall) -> dict[str, Any]:
    counts = answer.usage
    said = len(answer.text) + sum(len(one.name) + len(one.arguments) for one in answer.tool_calls)
    prompt = call.prompt_tokens if counts.prompt is None else counts.prompt
    completion = tokens(said) if counts.completion is None else counts.completion
    usage = {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": counts.cached},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }
    return {
        "id": f"resp_scripted_{call.number}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": call.model,
        "output": list(_output(answer, call)),
        "usage": usage,
    }


def _output(answer: Answer, call: ModelCall) -> Iterator[dict[str, Any]]:
    if answer.text or not answer.tool_calls:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        yield {
            "type": "message", "id": f"msg_{call.number}", "status": "completed", "role": "assistant",
            "content": content,
        }  # fmt: skip
    for index, one in enumerate(answer.tool_calls, 1):
        yield {
            "type": "function_call", "id": f"fc_{call.number}_{index}", "status": "completed", "name": one.name,
            "call_id": one.id or f"call_{call.number}_{index}", "arguments": one.arguments,
        }  # fmt: skip


def _event(name: str, fields: Mapping[str, Any]) -> bytes:
    return f"event: {name}\n".encode() + b"data: " + _bytes({"type": name, **fields}) + b"\n\n"


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

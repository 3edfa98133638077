"""Google's Gemini API over the same scripts: for Gemini CLI, which takes its models' address from
GOOGLE_GEMINI_BASE_URL.

    with ScriptedGemini([calls("write_file", file_path="a.py", content=""), says("It is done.")]) as server:
        ...  # a program with GOOGLE_GEMINI_BASE_URL=server.root_url and any key
    server.verify()

A request that offers no tools is a small thing beside the work: a short text answers it, and it takes nothing from the
script. Only whole answers are played.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.scripted_models.calls import ModelCall, tokens
from tests.scripted_models.replies import Answer, Failure, Reply, says
from tests.scripted_models.script import ANY_MODEL, Playing
from tests.scripted_models.server import HOST, Exchange, ScriptedModels
from tests.scripted_models.shapes import Plan, whole


class ScriptedGemini(ScriptedModels):
    """Plays a script to whoever speaks the Gemini API; everything else is as with `ScriptedModels`."""

    @property
    def root_url(self) -> str:
        """What GOOGLE_GEMINI_BASE_URL is set to."""
        return f"http://{HOST}:{self.port}"

    async def _plan(self, exchange: Exchange) -> Plan:
        model, _, method = exchange.path.rpartition("/")[2].partition(":")
        streams = method == "streamGenerateContent"
        if exchange.method != "POST" or not (streams or method == "generateContent"):
            if method == "countTokens":
                return whole(200, _bytes({"totalTokens": call_of(exchange.body, model, 0).prompt_tokens}))
            return _failure(Failure(404, f"{exchange.method} {exchange.path} is not served here"))
        call = call_of(exchange.body, model, 1)
        part = self._parts.get(model, self._parts.get(ANY_MODEL))
        if not call.tools or not isinstance(part, Playing):
            return planned(says("ok"), call, streams=streams)
        part.asked += 1
        exchange.number = part.asked
        call = replace(call, number=part.asked)
        reply, exchange.failure = await part.reply(call)
        if exchange.failure:
            self.failures.append(exchange.failure)
        return planned(reply, call, streams=streams)


def call_of(body: Mapping[str, Any], model: str, number: int) -> ModelCall:
    """A request as scripts see requests."""
    messages: list[dict[str, Any]] = []
    system = body.get("systemInstruction") or {}
    if system:
        messages.append({"role": "system", "content": _text(system.get("parts"))})
    for content in body.get("contents") or []:
        messages += _converted(content)
    offered = [
        {"type": "function", "function": {"name": one.get("name", "")}}
        for tool in body.get("tools") or []
        for one in tool.get("functionDeclarations") or []
    ]
    return ModelCall(model, number, {**body, "messages": messages, "tools": offered})


def _converted(content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role = "assistant" if content.get("role") == "model" else "user"
    parts = content.get("parts") or []
    for part in parts:
        if "functionResponse" in part:
            yield {"role": "tool", "content": json.dumps(part["functionResponse"].get("response"))}
    wanted = [one["functionCall"] for one in parts if "functionCall" in one]
    called = [{"id": "", "function": {"name": one["name"], "arguments": json.dumps(one["args"])}} for one in wanted]
    if _text(parts) or called:
        yield {"role": role, "content": _text(parts), **({"tool_calls": called} if called else {})}


def _text(parts: object) -> str:
    found = parts if isinstance(parts, list) else []
    return "\n".join(str(one["text"]) for one in found if isinstance(one, Mapping) and "text" in one)


def planned(reply: Reply, call: ModelCall, *, streams: bool) -> Plan:
    """How a reply goes out for that request."""
    match reply.act:
        case Answer() as answer:
            body = _bytes(_response(answer, call))
            kind = "text/event-stream" if streams else "application/json"
            made = whole(200, b"data: " + body + b"\r\n\r\n" if streams else body, kind, reply.headers)
        case Failure() as failure:
            made = _failure(failure)
        case other:
            raise NotImplementedError(f"{other} is not played in this API")
    return replace(made, delay=reply.delay)


def _failure(failure: Failure) -> Plan:
    return whole(failure.status, _bytes({"error": {"code": failure.status, "message": failure.message}}))


def _response(answer: Answer, call: ModelCall) -> dict[str, Any]:
    said = len(answer.text) + sum(len(one.name) + len(one.arguments) for one in answer.tool_calls)
    prompt = call.prompt_tokens if answer.usage.prompt is None else answer.usage.prompt
    completion = tokens(said) if answer.usage.completion is None else answer.usage.completion
    parts: list[dict[str, Any]] = [{"text": answer.text}] if answer.text or not answer.tool_calls else []
    parts += [{"functionCall": {"name": one.name, "args": json.loads(one.arguments)}} for one in answer.tool_calls]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": prompt,
            "candidatesTokenCount": completion,
            "cachedContentTokenCount": answer.usage.cached,
            "totalTokenCount": prompt + completion,
        },
        "modelVersion": call.model,
        "responseId": f"scripted-{call.number}",
    }


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

"""Other providers' APIs over the same scripts, for agents that speak nothing else.

    with ScriptedMessages([calls("Bash", command="ls"), says("It is done.")]) as server:
        ...  # a program with ANTHROPIC_BASE_URL=server.root_url and any key
    server.verify()

Whole answers are played, and failures. Agents ask small things besides (a title, whether the key works), and offer no
tool then: a short text answers such a request, and it takes nothing from the script.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.scripted_models.calls import ModelCall, tokens
from tests.scripted_models.replies import Answer, Failure, says
from tests.scripted_models.script import ANY_MODEL
from tests.scripted_models.server import HOST, Exchange, ScriptedModels
from tests.scripted_models.shapes import Plan, models_body, whole

Fields = Mapping[str, Any]


class _Elsewhere(ScriptedModels):
    """Plays a script to whoever speaks another API; everything else is as with `ScriptedModels`."""

    @property
    def root_url(self) -> str:
        """What the variable is set to that names the server."""
        return f"http://{HOST}:{self.port}"

    @abstractmethod
    def _asked(self, exchange: Exchange) -> ModelCall | Plan:
        """The request as scripts see requests, or the answer to what asks no model."""

    @abstractmethod
    def _body(self, answer: Answer, call: ModelCall) -> Fields: ...

    @abstractmethod
    def _events(self, body: Fields) -> Iterator[Fields]:
        """The same as a stream; an event with a `type` goes out under that name."""

    async def _plan(self, exchange: Exchange) -> Plan:
        call = self._asked(exchange)
        if isinstance(call, Plan):
            return call
        part, reply = self._parts.get(call.model, self._parts.get(ANY_MODEL)), says("ok")
        if call.tools and part is not None:
            part.asked += 1
            exchange.number = part.asked
            call = replace(call, number=part.asked)
            reply, exchange.failure = await part.reply(call)
            self.failures += [exchange.failure] if exchange.failure else []
        if isinstance(reply.act, Failure):
            return refused(reply.act)
        assert isinstance(reply.act, Answer), f"{reply.act} is not played in this API"
        body = self._body(reply.act, call)
        if call.streams:
            events = b"".join(event(one) for one in self._events(body))
            return replace(whole(200, events, "text/event-stream"), delay=reply.delay)
        return replace(whole(200, written(body)), delay=reply.delay)


class ScriptedMessages(_Elsewhere):
    """Anthropic's Messages API, for Claude Code."""

    def _asked(self, exchange: Exchange) -> ModelCall | Plan:
        method, path, body = exchange.method, exchange.path.rstrip("/"), exchange.body
        if method in ("GET", "HEAD") and path == "":
            return whole(200, b"" if method == "HEAD" else b"{}")
        messages: list[Fields] = [{"role": "system", "content": text_of(body["system"])}] if body.get("system") else []
        for message in body.get("messages") or []:
            messages += self._converted(message["role"], message["content"])
        call = asked_of(body, messages, [one.get("name", "") for one in body.get("tools") or []])
        if (method, path) == ("POST", "/v1/messages/count_tokens"):
            return whole(200, written({"input_tokens": call.prompt_tokens}))
        return call if (method, path) == ("POST", "/v1/messages") else not_served(exchange)

    @staticmethod
    def _converted(role: str, content: str | Sequence[Fields]) -> Iterator[Fields]:
        """Results of tools are messages of their own for scripts."""
        if isinstance(content, str):
            yield {"role": role, "content": content}
            return
        for one in content:
            if one["type"] == "tool_result":
                yield {"role": "tool", "content": text_of(one.get("content")), "tool_call_id": one["tool_use_id"]}
        said = text_of([one for one in content if one["type"] == "text"])
        called = [called_as(one["id"], one["name"], one["input"]) for one in content if one["type"] == "tool_use"]
        if said or called:
            yield {"role": role, "content": said, "tool_calls": called}

    def _body(self, answer: Answer, call: ModelCall) -> Fields:
        prompt, completion = spent(answer, call)
        said = [{"type": "text", "text": answer.text}] if answer.text or not answer.tool_calls else []
        used = [
            {
                "type": "tool_use", "id": f"toolu_{call.number}_{index}", "name": one.name,
                "input": json.loads(one.arguments),
            }
            for index, one in enumerate(answer.tool_calls, 1)
        ]  # fmt: skip
        usage = {"input_tokens": prompt, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        return {
            "id": f"msg_scripted_{call.number}", "type": "message", "role": "assistant", "model": call.model,
            "content": [*said, *used], "stop_reason": "tool_use" if used else "end_turn", "stop_sequence": None,
            "usage": {**usage, "output_tokens": completion},
        }  # fmt: skip

    def _events(self, body: Fields) -> Iterator[Fields]:
        opening = {**body, "content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 1}}
        yield {"type": "message_start", "message": opening}
        for index, block in enumerate(body["content"]):
            if block["type"] == "text":
                begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                begun = {**block, "input": {}}
            yield {"type": "content_block_start", "index": index, "content_block": begun}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        ended = {"stop_reason": body["stop_reason"], "stop_sequence": None}
        usage = {"output_tokens": body["usage"]["output_tokens"]}
        yield {"type": "message_delta", "delta": ended, "usage": usage}
        yield {"type": "message_stop"}


class ScriptedResponses(_Elsewhere):
    """OpenAI's Responses API, for Codex."""

    def _asked(self, exchange: Exchange) -> ModelCall | Plan:
        body, asked = exchange.body, (exchange.method, exchange.path)
        if asked != ("POST", "/v1/responses"):
            return whole(200, models_body(())) if asked == ("GET", "/v1/models") else not_served(exchange)
        system = body.get("instructions")
        messages: list[Fields] = [{"role": "system", "content": system}] if system else []
        given = body.get("input") or []
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            messages += self._converted(item)
        return asked_of(body, messages, [one.get("name", "") for one in body.get("tools") or []])

    @staticmethod
    def _converted(item: Fields) -> Iterator[Fields]:
        kind = item.get("type", "message")
        if kind == "message":
            yield {"role": item["role"], "content": text_of(item.get("content"))}
        elif kind in ("function_call", "custom_tool_call"):
            function = {"name": item["name"], "arguments": item.get("arguments", item.get("input", ""))}
            yield {"role": "assistant", "content": "", "tool_calls": [{"id": item["call_id"], "function": function}]}
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield {"role": "tool", "content": text_of(item.get("output")), "tool_call_id": item["call_id"]}

    def _body(self, answer: Answer, call: ModelCall) -> Fields:
        prompt, completion = spent(answer, call)
        content = {"type": "output_text", "text": answer.text, "annotations": []}
        message = {"type": "message", "id": f"msg_{call.number}", "status": "completed", "role": "assistant"}
        said = [{**message, "content": [content]}] if answer.text or not answer.tool_calls else []
        used = [
            {
                "type": "function_call", "id": f"fc_{call.number}_{index}", "status": "completed", "name": one.name,
                "call_id": f"call_{call.number}_{index}", "arguments": one.arguments,
            }
            for index, one in enumerate(answer.tool_calls, 1)
        ]  # fmt: skip
        usage = {
            "input_tokens": prompt, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": completion,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": prompt + completion,
        }  # fmt: skip
        return {
            "id": f"resp_scripted_{call.number}", "object": "response", "created_at": 0, "status": "completed",
            "model": call.model, "output": [*said, *used], "usage": usage,
        }  # fmt: skip

    def _events(self, body: Fields) -> Iterator[Fields]:
        begun = {**body, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "response": begun}
        for index, item in enumerate(body["output"]):
            yield {"type": "response.output_item.added", "output_index": index, "item": item}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": "response.completed", "response": body}


class ScriptedGemini(_Elsewhere):
    """Google's Gemini API, for Gemini CLI."""

    def _asked(self, exchange: Exchange) -> ModelCall | Plan:
        body, (model, _, method) = exchange.body, exchange.path.rpartition("/")[2].partition(":")
        system = text_of((body.get("systemInstruction") or {}).get("parts"))
        messages: list[Fields] = [{"role": "system", "content": system}] if system else []
        for content in body.get("contents") or []:
            messages += self._converted(content)
        offered = [one["name"] for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
        streams = method == "streamGenerateContent"
        call = asked_of({**body, "model": model, "stream": streams}, messages, offered)
        if method == "countTokens":
            return whole(200, written({"totalTokens": call.prompt_tokens}))
        served = exchange.method == "POST" and (streams or method == "generateContent")
        return call if served else not_served(exchange)

    @staticmethod
    def _converted(content: Fields) -> Iterator[Fields]:
        parts = content.get("parts") or []
        for part in parts:
            if "functionResponse" in part:
                yield {"role": "tool", "content": json.dumps(part["functionResponse"].get("response"))}
        wanted = [one["functionCall"] for one in parts if "functionCall" in one]
        called = [called_as("", one["name"], one["args"]) for one in wanted]
        if text_of(parts) or called:
            role = "assistant" if content.get("role") == "model" else "user"
            yield {"role": role, "content": text_of(parts), "tool_calls": called}

    def _body(self, answer: Answer, call: ModelCall) -> Fields:
        prompt, completion = spent(answer, call)
        parts: list[Fields] = [{"text": answer.text}] if answer.text or not answer.tool_calls else []
        parts += [{"functionCall": {"name": one.name, "args": json.loads(one.arguments)}} for one in answer.tool_calls]
        usage = {"promptTokenCount": prompt, "candidatesTokenCount": completion, "totalTokenCount": prompt + completion}
        content = {"role": "model", "parts": parts}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage,
            "modelVersion": call.model, "responseId": f"scripted-{call.number}",
        }  # fmt: skip

    def _events(self, body: Fields) -> Iterator[Fields]:
        yield body


# What the three have in common.


def asked_of(body: Fields, messages: Sequence[Fields], tools: Sequence[str]) -> ModelCall:
    """`expecting` and callables look at it as at a request of OpenAI's chat completions."""
    offered = [{"type": "function", "function": {"name": name}} for name in tools]
    return ModelCall(str(body.get("model", "")), 1, {**body, "messages": messages, "tools": offered})


def called_as(id_: str, name: str, arguments: object) -> Fields:
    return {"id": id_, "function": {"name": name, "arguments": json.dumps(arguments)}}


def text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(one["text"]) for one in blocks if isinstance(one, Mapping) and "text" in one)


def spent(answer: Answer, call: ModelCall) -> tuple[int, int]:
    """Tokens of the prompt and of the reply."""
    said = len(answer.text) + sum(len(one.name) + len(one.arguments) for one in answer.tool_calls)
    counts = answer.usage
    prompt = call.prompt_tokens if counts.prompt is None else counts.prompt
    return prompt, tokens(said) if counts.completion is None else counts.completion


def not_served(exchange: Exchange) -> Plan:
    return refused(Failure(404, f"{exchange.method} {exchange.path} is not served here"))


def refused(failure: Failure) -> Plan:
    """An error that each of these clients understands."""
    error = {"type": failure.type, "code": failure.status, "message": failure.message}
    return whole(failure.status, written({"type": "error", "error": error}))


def event(fields: Fields) -> bytes:
    name = f"event: {fields['type']}\n" if "type" in fields else ""
    return name.encode() + b"data: " + written(fields) + b"\n\n"


def written(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

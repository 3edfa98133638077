"""The calls themselves: the only place that imports litellm."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from donewhen.core.calls import Message
from donewhen.models.protocol import Answered, Call
from donewhen.models.replies import Growing, chat_message, streamed_reply, whole_reply


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
        with suppress(Exception):
            mirror = await asyncio.start_server(_mirror, "127.0.0.1", 0)
            base = f"http://127.0.0.1:{mirror.sockets[0].getsockname()[1]}/v1"
            asked = {"tools": [_TOOL], "temperature": 0.0}
            call = Call("openai/warm-up", (Message("user", "?"),), "none", base, asked, timeout=5.0)
            try:
                async with asyncio.timeout(5):
                    for stream in (False, True):
                        await self.ask(replace(call, stream=stream), lambda _: None, lambda: None)
            finally:
                mirror.close()

    async def ask(self, call: Call, on_text: Callable[[str], None], on_chunk: Callable[[], None]) -> Answered:
        """The reply to a call. Raises whatever litellm raises."""
        marks = set(call.marks)
        arguments: dict[str, Any] = {
            "model": call.model,
            "messages": [chat_message(one, marked=index in marks) for index, one in enumerate(call.messages)],
            "timeout": call.timeout,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            **call.parameters,
        }
        for name, value in (("api_key", call.key), ("api_base", call.api_base)):
            if value:
                arguments[name] = value
        if call.stream:
            arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        response = await self._litellm.acompletion(**arguments)
        if response is None:
            raise UnprocessableError("the provider refused the request's parameters (422)")
        if call.stream:
            reply, usage = await streamed_reply(response, Growing(on_text, on_chunk))
        else:
            reply, usage = whole_reply(response)
        if usage is None:
            return reply
        with suppress(Exception):
            priced = self._litellm.ModelResponse(model=call.model, usage=usage)
            return replace(reply, cost=self._litellm.completion_cost(completion_response=priced, model=call.model))
        return reply


class UnprocessableError(Exception):
    """litellm shortened a request and then gave up on it without saying so."""

    status_code = 422


# A model on loopback that answers the host's own first requests.


_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
_CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


async def _mirror(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        found = _LENGTH.search(head)
        body = json.loads(await reader.readexactly(int(found[1]) if found else 0))
        if body.get("stream"):
            kind, form = "text/event-stream", "chat.completion.chunk"
            choices: list[dict[str, Any]] = [
                {"index": 0, "finish_reason": None, "delta": {"role": "assistant", "content": "."}},
                {"index": 0, "finish_reason": None, "delta": {"tool_calls": [{"index": 0, **_CALL}]}},
                {"index": 0, "finish_reason": "tool_calls", "delta": {}},
            ]
            events = [*(_completion(form, [one]) for one in choices), _completion(form, [], _USAGE), b"[DONE]"]
            reply = b"".join(b"data: " + one + b"\n\n" for one in events)
        else:
            kind, message = "application/json", {"role": "assistant", "content": "", "tool_calls": [_CALL]}
            choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
            reply = _completion("chat.completion", [choice], _USAGE)
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n".encode())
        writer.write(f"Content-Length: {len(reply)}\r\n\r\n".encode() + reply)
        await writer.drain()
    except (OSError, EOFError, ValueError):
        pass  # a failed warm-up only makes the first call slower
    finally:
        writer.close()


def _completion(kind: str, choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> bytes:
    return json.dumps(
        {"id": "w", "object": kind, "created": 0, "model": "warm-up", "choices": choices, "usage": usage}
    ).encode()

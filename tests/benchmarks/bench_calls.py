"""What one call to a model takes, by each way of making it: CPU of whoever asks, the model host's included."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import statistics
import threading
import time
from collections.abc import Awaitable, Callable

import openai
import psutil

from donewhen.core.calls import Message, ToolCall
from donewhen.models.direct.clients import DirectClients
from donewhen.models.hosted import HostedModel
from donewhen.models.hosting import ModelHost
from donewhen.models.replies import chat_message
from donewhen.ports import ModelFacts, ModelRequest
from donewhen.workspace.processes.running import SystemProcesses

ROUNDS = 40
_REPLY = json.dumps({
    "id": "r", "object": "chat.completion", "created": 0, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}).encode()  # fmt: skip


class Endpoint(threading.Thread):
    """Answers at once, in a thread of its own, whose CPU isn't counted."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.port, self._ready = 0, threading.Event()

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_REPLY)
        try:
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(asked.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
                writer.write(head + _REPLY)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def opened(self) -> int:
        self.start()
        self._ready.wait(10)
        return self.port


def conversation(count: int) -> tuple[Message, ...]:
    """A system message, and calls with results of 2 KB."""
    said = [Message("system", "You work. " * 50), Message("user", "Begin.")]
    for number in range((count - 2) // 2):
        call = ToolCall(f"c{number}", "run_command", json.dumps({"command": f"run {number}"}))
        said += [Message("assistant", "", (call,)), Message("tool", f"{number} " * 700, answers=call.id)]
    return tuple(said)


async def _measured(count: int, port: int) -> dict[str, float]:
    base = f"http://127.0.0.1:{port}/v1"
    messages = conversation(count)
    plain = [chat_message(one, marked=False) for one in messages]
    body = {"model": "m", "messages": plain}
    bare = http.client.HTTPConnection("127.0.0.1", port)
    client = openai.AsyncOpenAI(api_key="none", base_url=base, max_retries=0)
    clients, host = DirectClients(), ModelHost(SystemProcesses(), os.environ)
    asked = ModelRequest(messages)
    ours = HostedModel("openai/m", clients, api_base=base, facts=ModelFacts())
    through = HostedModel("openai/m", host, api_base=base, facts=ModelFacts())

    async def by_hand() -> None:
        bare.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        json.loads(bare.getresponse().read())

    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "bare HTTP": by_hand,
        "openai, chat.completions.create": lambda: client.chat.completions.create(**body),  # type: ignore[arg-type]
        "ours, official client": lambda: ours.complete(asked),
        "ours, litellm in its host": lambda: through.complete(asked),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        await way()
    hosted = psutil.Process().children()
    for _ in range(ROUNDS):
        for name, way in ways.items():
            others = sum(sum(one.cpu_times()[:2]) for one in hosted)
            begun = time.thread_time()
            await way()
            spent = time.thread_time() - begun
            found[name].append(1000 * (spent + sum(sum(one.cpu_times()[:2]) for one in hosted) - others))
    await clients.close()
    await client.close()
    await host.close()
    bare.close()
    # A process's CPU is counted in steps of 10 ms: only the mean of many calls tells it.
    return {
        f"{count} messages, {name}": round(statistics.mean(each) if "host" in name else statistics.median(each), 2)
        for name, each in found.items()
    }


def measure() -> dict[str, float]:
    """Milliseconds of CPU a call, taken in turns: the median, for litellm's host the mean."""
    port = Endpoint().opened()
    return {name: value for count in (12, 102) for name, value in asyncio.run(_measured(count, port)).items()}


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"- {name}: {value} ms")

"""The server itself: connections, what it remembers, what it refuses."""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest

from tests.scripted_models import ScriptedModels, hangs, says
from tests.scripted_models.client import Client
from tests.tools import each_row

BODY = {"model": "worker", "messages": [{"role": "user", "content": "Hello"}]}


async def test_it_serves_in_the_running_loop() -> None:
    async with ScriptedModels({"worker": [says("Hi")]}) as server, httpx.AsyncClient() as client:
        assert server.base_url == f"http://127.0.0.1:{server.port}/v1"
        response = await client.post(f"{server.base_url}/chat/completions", json=BODY)
        assert response.json()["choices"][0]["message"]["content"] == "Hi"


def test_it_remembers_what_it_was_asked() -> None:
    with ScriptedModels({"worker": [says("Hi")]}) as server, Client(server) as client:
        before = time.monotonic()
        client.send(json.dumps(BODY), Authorization="Bearer sk-test")
        (exchange,) = server.requests
        server.wait(lambda _: exchange.ended)
        assert (exchange.path, exchange.key, exchange.body) == ("/v1/chat/completions", "sk-test", BODY)
        assert exchange.headers["authorization"] == "Bearer sk-test"
        assert before <= exchange.arrived <= time.monotonic()
        assert (exchange.status, exchange.disconnected, exchange.number) == (200, False, 1)
        assert exchange.sent > 0


async def test_it_sees_a_client_leave_within_a_delay() -> None:
    async with ScriptedModels({"worker": [says("late").after(30)]}) as server, httpx.AsyncClient() as client:
        asking = asyncio.create_task(client.post(f"{server.base_url}/chat/completions", json=BODY))
        await server.until(lambda s: len(s.requests) == 1)
        asking.cancel()
        await server.until(lambda s: s.requests[0].disconnected)
        assert server.requests[0].ended
        assert server.requests[0].sent == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_that_hangs_ends_with_the_server(stream: bool) -> None:
    async with asyncio.timeout(5):
        async with ScriptedModels({"worker": [hangs(after_events=2)]}) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            body = json.dumps({**BODY, "stream": stream}).encode()
            writer.write(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b"
                % (len(body), body)
            )
            await server.until(lambda s: bool(s.requests and s.requests[0].sent))
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.read() != b""
        writer.close()
        assert server.requests[0].ended


@each_row(
    "method, path, body, status, code",
    [
        ("POST", "/v1/chat/completions", "no json", 400, None),
        ("POST", "/v1/chat/completions", '{"messages": []}', 400, None),
        ("POST", "/v1/chat/completions", '{"model": "nobody", "messages": []}', 404, "model_not_found"),
        ("POST", "/v1/embeddings", "{}", 404, "unknown_url"),
        ("GET", "/v1/chat/completions", "", 404, "unknown_url"),
    ],
)
def test_what_is_no_request_for_a_part_is_refused(
    method: str, path: str, body: str, status: int, code: str | None
) -> None:
    with ScriptedModels({"worker": []}) as server, Client(server) as client:
        answered = client.send(body, path, method)
        assert (answered.status, answered.error["code"]) == (status, code)


def test_a_key_may_be_demanded() -> None:
    with ScriptedModels({"worker": [says("Hi")]}, key="sk-right") as server, Client(server) as client:
        assert client.send(json.dumps(BODY), Authorization="Bearer sk-wrong").error["code"] == "invalid_api_key"
        assert client.send(json.dumps(BODY), Authorization="Bearer sk-right").status == 200
        server.verify()

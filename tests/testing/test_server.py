"""The server itself: connections, what it remembers, what it refuses."""

from __future__ import annotations

import asyncio
import json
import socket
import time

import httpx
import pytest

from donewhen.testing.models import Part, Prebuilt, ScriptedModels, hangs, says
from tests.testing.client import Client

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
        assert exchange.request.received > len(exchange.request.body)
        assert (exchange.status, exchange.disconnected, exchange.number) == (200, False, 1)
        assert exchange.sent > 0


def test_bodies_can_be_forgotten() -> None:
    with ScriptedModels({"worker": [says("Hi")]}, keep_bodies=False) as server, Client(server) as client:
        client.ask()
        server.wait(lambda s: s.requests[0].ended)
        assert server.requests[0].body == {}
        assert server.requests[0].request.received > 100


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
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            await server.until(lambda s: bool(s.requests and s.requests[0].sent))
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.read() != b""
        writer.close()
        assert server.requests[0].ended


def test_a_connection_serves_many_requests_and_many_connections_at_once() -> None:
    with ScriptedModels({"worker": Part([says("Hi")], "repeat_last")}) as server:
        clients = [Client(server) for _ in range(20)]
        sockets: set[int] = set()
        for _ in range(3):
            for client in clients:
                assert client.ask().status == 200
                assert client.connection.sock is not None
                sockets.add(id(client.connection.sock))
        assert len(sockets) == 20
        for client in clients:
            client.close()


def test_a_connection_that_is_meant_to_close_closes() -> None:
    with ScriptedModels({"worker": [says("Hi")]}) as server, socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
        received = b"".join(iter(lambda: s.recv(4096), b""))
        assert b'"worker"' in received


def test_requests_may_come_in_chunks_and_ask_first() -> None:
    body = json.dumps(BODY).encode()
    chunks = b"%x\r\n%b\r\n%x;x=y\r\n%b\r\n0\r\n\r\n" % (10, body[:10], len(body) - 10, body[10:])
    with ScriptedModels({"worker": [says("Hi")]}) as server, socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 100 ")
        s.sendall(chunks)
        assert s.recv(100).startswith(b"HTTP/1.1 200 OK")
        assert server.requests[0].body == BODY


@pytest.mark.parametrize(
    "raw",
    [b"hello\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 300_000],
)
def test_what_is_no_http_gets_400_and_the_end(raw: bytes) -> None:
    with ScriptedModels({"worker": []}) as server, socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(raw)
        assert s.recv(4096).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
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


def test_the_models_are_listed() -> None:
    with ScriptedModels({"worker": [], "judge": [], "*": []}) as server, Client(server) as client:
        listed = client.send("", "/v1/models", "GET").json
        assert [one["id"] for one in listed["data"]] == ["worker", "judge"]


def test_a_key_may_be_demanded() -> None:
    with ScriptedModels({"worker": [says("Hi")]}, key="sk-right") as server, Client(server) as client:
        assert client.send(json.dumps(BODY), Authorization="Bearer sk-wrong").error["code"] == "invalid_api_key"
        assert client.send(json.dumps(BODY), Authorization="Bearer sk-right").status == 200
        server.verify()


def test_a_port_that_is_taken_is_told() -> None:
    with ScriptedModels({}) as server, pytest.raises(OSError), ScriptedModels({}, port=server.port):
        pass
    with pytest.raises(OverflowError), ScriptedModels({}, port=70_000):
        pass


async def test_waiting_ends_at_its_deadline() -> None:
    async with ScriptedModels({}) as server:
        with pytest.raises(TimeoutError):
            await server.until(lambda s: bool(s.requests), within=0.01)
        with pytest.raises(TimeoutError):
            server.wait(lambda s: bool(s.requests), within=0.01)


@pytest.mark.benchmark
def test_a_request_costs_little() -> None:
    """Figures to read, with the client's share in them."""
    with ScriptedModels(Prebuilt(says("Hi")), keep_bodies=False) as server, Client(server) as client:
        for size in (1_000, 100_000, 2_000_000):
            started, count = time.perf_counter(), 200
            for _ in range(count):
                client.ask("x" * size)
            print(f"{size} characters: {(time.perf_counter() - started) / count * 1000:.2f} ms a request")

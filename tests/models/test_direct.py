"""The official clients: what they serve, what they take from the environment (nothing), and Anthropic's Messages."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed
from donewhen.core.trouble import FailedTry
from donewhen.models.catalogue import cost_of
from donewhen.models.direct.clients import DirectClients, family_of
from donewhen.models.hosted import Abilities, HostedModel, Transport
from donewhen.models.protocol import Answered, Call, CallFailed
from donewhen.models.routing import Routes
from donewhen.ports import ModelFacts
from tests.models.conftest import LOOK, Pauses, model, request, scripted, until
from tests.scripted_models import html, says
from tests.tools import each_row

CLAUDE = "anthropic/claude-sonnet-4-5"
loop = pytest.mark.asyncio(loop_scope="session")


@each_row(
    "name, base, family",
    [
        ("openai/gpt-4o", None, "openai"),
        ("gpt-4o", None, "openai"),
        ("openai/of-my-own", "http://127.0.0.1:1/v1", "openai"),
        ("openai/meta-llama/Llama-3", "http://127.0.0.1:1/v1", "openai"),
        ("lm_studio/gemma", "http://127.0.0.1:1/v1", "openai"),
        ("hosted_vllm/gemma", None, None),
        ("anthropic/claude-sonnet-4-5", None, "anthropic"),
        ("claude-sonnet-4-5", None, "anthropic"),
        ("anthropic/of-my-own", "http://127.0.0.1:1", "anthropic"),
        ("openai/gpt-5-codex", None, None),
        ("openai/gpt-5-codex", "http://127.0.0.1:1/v1", "openai"),
        ("openai/responses/gpt-5", None, None),
        ("ollama/llama3", "http://127.0.0.1:1", None),
        ("gemini/gemini-2.5-pro", None, None),
        ("bedrock/anthropic.claude-sonnet-4-5", None, None),
        ("nobody-knows", None, None),
    ],
)
def test_the_official_clients_serve_what_is_plain(name: str, base: str | None, family: str | None) -> None:
    assert family_of(name, base) == family


@dataclass
class Noting:
    """A way that notes what goes there."""

    asked: list[str] = field(default_factory=list)
    warmed: int = 0

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
        self.asked.append(call.model)
        return Answered(Message("assistant", "yes"), "stop", 1, 1, 0)

    def warm(self, model: str, api_base: str | None) -> None:
        self.warmed += 1


@loop
async def test_litellm_serves_the_rest_and_everything_where_it_is_set() -> None:
    through, forced = Noting(), [False]
    routes = Routes(lambda: through, lambda: forced[0])
    async with scripted(says("direct")) as server:
        plain = Call("openai/scripted", (Message("user", "?"),), "k", server.base_url)
        assert (await routes.ask(plain)).message.text == "direct"
        await routes.ask(Call("gemini/gemini-2.5-pro", (), "k"))
        routes.warm(plain.model, plain.api_base)
        assert not through.warmed
        forced[0] = True
        assert (await routes.ask(plain)).message.text == "yes"
        routes.warm(plain.model, plain.api_base)
    assert through.asked == ["gemini/gemini-2.5-pro", "openai/scripted"]
    assert through.warmed == 1
    await routes.close()


def test_nothing_is_imported_before_a_model_needs_it() -> None:
    program = (
        "import sys, donewhen.app.models; "
        "print(*({'openai', 'anthropic', 'litellm', 'httpx', 'httpx2'} & set(sys.modules)))"
    )
    done = subprocess.run((sys.executable, "-c", program), check=True, capture_output=True, text=True)
    assert not done.stdout.split()


@pytest.mark.slow
@loop
async def test_nothing_of_the_environment_is_sent_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another key, organization or header may be for another address; a proxy never gets what stays on this machine."""
    for variable in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
    ):
        monkeypatch.setenv(variable, "secret-of-the-environment")
    for variable in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(variable, "X-Gateway: secret-of-the-environment\nno header")
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    clients = DirectClients()
    async with messages(whole()) as server, scripted(says("well")) as plain:
        await HostedModel(CLAUDE, clients, key=lambda: "sk-own", api_base=server.base, facts=ModelFacts()).complete(
            request()
        )
        await model(clients, plain, key=lambda: "sk-own").complete(request())
        assert [one.key for one in plain.requests] == ["sk-own"]
    assert "secret-of-the-environment" not in server.heads[0]
    assert "x-api-key: sk-own" in server.heads[0].lower()
    await clients.close()


@loop
async def test_a_first_call_that_is_cancelled_while_the_client_loads_harms_no_other() -> None:
    clients = DirectClients()
    async with scripted(says("well"), says("well")) as server:
        asked = model(clients, server)
        first = asyncio.ensure_future(asked.complete(request()))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await asked.complete(request())).message.text == "well"
    await clients.close()


def test_a_long_prompt_costs_what_its_tier_costs() -> None:
    name = "gemini/gemini-2.5-pro"
    assert cost_of(name, 100_000, 1_000, 0) == pytest.approx(0.1 * 1.25 + 0.001 * 10)
    assert cost_of(name, 300_000, 1_000, 0) == pytest.approx(0.3 * 2.5 + 0.001 * 15)
    assert cost_of("openai/nobody-knows", 1, 1, 0) is None


# Anthropic's Messages on loopback, by both ways.


@dataclass
class Messages:
    """What a server of Messages was asked."""

    base: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    heads: list[str] = field(default_factory=list[str])
    left: int = 0
    """Connections that the client closed before the reply was whole."""


@dataclass(frozen=True)
class Served:
    body: str
    status: int = 200
    kind: str = "application/json"
    hangs: bool = False


def whole(text: str = "well", **usage: int) -> Served:
    counted = {"input_tokens": 10, "output_tokens": 5, **usage}
    content = [{"type": "text", "text": text}]
    return Served(json.dumps({**_MESSAGE, "content": content, "stop_reason": "end_turn", "usage": counted}))


def fails(status: int, kind: str, said: str) -> Served:
    return Served(json.dumps({"type": "error", "error": {"type": kind, "message": said}}), status)


def streams(*events: dict[str, Any], hangs: bool = False) -> Served:
    body = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    return Served(body, kind="text/event-stream", hangs=hangs)


_MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_sequence": None}
_START = {
    "type": "message_start",
    "message": {
        **_MESSAGE, "content": [], "stop_reason": None,
        "usage": {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 900},
    },
}  # fmt: skip


def _text(index: int, *pieces: str) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": index},
    ]


def _call(index: int, *pieces: str) -> list[dict[str, Any]]:
    wish = {"type": "tool_use", "id": f"t{index}", "name": "look", "input": {}}
    return [
        {"type": "content_block_start", "index": index, "content_block": wish},
        *(
            {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": one}}
            for one in pieces
        ),
        {"type": "content_block_stop", "index": index},
    ]


_END = [
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}},
    {"type": "message_stop"},
]


@asynccontextmanager
async def messages(*replies: Served) -> AsyncIterator[Messages]:
    seen, left = Messages(), list(replies)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().split("content-length:")[1].split("\r\n")[0])
        seen.heads.append(head)
        seen.bodies.append(json.loads(await reader.readexactly(length)))
        reply = left.pop(0)
        writer.write(f"HTTP/1.1 {reply.status} X\r\nContent-Type: {reply.kind}\r\nConnection: close\r\n\r\n".encode())
        writer.write(reply.body.encode())
        await writer.drain()
        if reply.hangs:
            await reader.read()
            seen.left += 1
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        seen.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield seen


def claude(way: Transport, server: Messages, **options: Any) -> HostedModel:
    given = {"key": lambda: "sk-ant", "facts": ModelFacts(), "sleep": Pauses(), **options}
    return HostedModel(CLAUDE, way, api_base=server.base, **given)


@loop
async def test_a_stream_of_claude_grows_with_its_calls_and_tokens(way: Transport) -> None:
    heard: list[str] = []
    reply = streams(_START, *_text(0, "I ", "look."), *_call(1, '{"path"', ': "a"}'), *_call(2, ""), *_END)
    async with messages(reply) as server:
        got = await claude(way, server).complete(request(tools=(LOOK,), stream=True), heard.append)
    assert got.message.text == heard[-1] == "I look."
    assert [(one.name, json.loads(one.arguments or "{}")) for one in got.message.calls] == [
        ("look", {"path": "a"}),
        ("look", {}),
    ]
    assert got.finish == "tool_calls"
    assert (got.usage.input_tokens, got.usage.output_tokens, got.usage.cached_tokens) == (1000, 20, 900)


@loop
async def test_a_server_that_hangs_up_unread_broke_the_connection_off() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(CallFailed, match=r"[Dd]isconnected|reset|[Bb]roken pipe") as caught:
            await DirectClients().ask(Call("openai/scripted", (Message("user", "?"),), "k", base))
    assert caught.value.failure.network == "broken_off"


@loop
@pytest.mark.parametrize(("answers", "said"), [("", "connection refused"), ("HTTP/1.1 404 Not Found\r\n", "")])
async def test_where_an_address_redirects_is_said(answers: str, said: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = not seen
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        line = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {moved}\r\n" if first else answers
        writer.write(f"{line}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    seen: list[bytes] = []
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        moved = f"{base}/elsewhere" if answers else "http://127.0.0.1:1/v1"
        call = Call("openai/scripted", (Message("user", "?"),), "k", base)
        with pytest.raises(CallFailed, match=f"{said}.* [(]at {moved}, where that address redirects[)]"):
            await DirectClients().ask(call)


@loop
async def test_a_conversation_reaches_claude_in_turns(way: Transport) -> None:
    conversation = (
        Message("system", "You work."),
        Message("user", "Begin."),
        Message("assistant", "", (ToolCall("c1", "look", '{"path": "a"}'), ToolCall("c2", "look", "{broken"))),
        Message("tool", "contents of a", answers="c1"),
        Message("tool", "no JSON", answers="c2"),
        Message("user", "Go on."),
    )
    async with messages(whole()) as server:
        await claude(way, server).complete(request(*conversation, tools=(LOOK,), max_tokens=77, temperature=0.0))
    body = server.bodies[0]
    assert "You work." in json.dumps(body["system"])
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
    wishes = [one for one in body["messages"][1]["content"] if one["type"] == "tool_use"]
    assert [(one["id"], one["input"]) for one in wishes] == [("c1", {"path": "a"}), ("c2", {"not_json": "{broken"})]
    kinds = [one["type"] for one in body["messages"][2]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]
    assert (body["max_tokens"], body["temperature"]) == (77, 0.0)
    assert (body["tools"][0]["name"], body["tools"][0]["input_schema"]) == ("look", dict(LOOK.parameters))
    assert "cache_control" not in json.dumps(body)


@loop
@pytest.mark.parametrize(
    ("reply", "kind", "told"),
    [
        (
            fails(401, "authentication_error", "invalid x-api-key"),
            "key_refused",
            "check DONEWHEN_API_KEY",
        ),
        (fails(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), "too_long", "too long"),
        (fails(400, "invalid_request_error", "Your credit balance is too low"), "no_credit", "no credit left"),
        (fails(404, "not_found_error", "model: claude-x"), "no_such_model", "there is no model"),
        (fails(400, "invalid_request_error", "messages: odd"), "refused", "messages: odd"),
    ],
)
async def test_what_claude_refuses_is_told_at_once(way: Transport, reply: Served, kind: str, told: str) -> None:
    async with messages(reply) as server:
        with pytest.raises(ModelFailed, match=told) as caught:
            await claude(way, server).complete(request())
    assert caught.value.kind == kind
    assert "sk-ant" not in str(caught.value)


@loop
@pytest.mark.parametrize("stream", [False, True])
async def test_an_overload_of_claude_is_waited_for(way: Transport, stream: bool) -> None:
    pauses, again = Pauses(), streams(_START, *_text(0, "well"), *_END) if stream else whole()
    async with messages(fails(529, "overloaded_error", "Overloaded"), again) as server:
        got = await claude(way, server, sleep=pauses).complete(request(stream=stream))
    assert got.message.text == "well"
    assert len(pauses.seconds) == 1


@loop
async def test_a_stream_of_claude_that_breaks_off_counts_as_its_prompt(clients: DirectClients) -> None:
    broken = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    well = streams(_START, *_text(0, "well"), *_END)
    async with messages(streams(_START, *_text(0, "half"), broken), well) as server:
        asked = claude(clients, server)
        prompt, _ = asked.estimate(request())
        got = await asked.complete(request(stream=True))
    assert got.usage.input_tokens == 1000 + prompt.input_tokens


@loop
async def test_a_page_of_html_is_named_at_the_first_try_of_a_stream(clients: DirectClients) -> None:
    told: list[FailedTry] = []

    async def hears(failed: FailedTry) -> None:
        told.append(failed)

    async with scripted(html(), says("well")) as server:
        got = await model(clients, server).complete(request(stream=True, on_failed_try=hears))
    assert got.message.text == "well"
    assert "a page of HTML" in told[0].trouble.said


@loop
async def test_claude_is_cancelled_at_once_and_sees_it(way: Transport) -> None:
    heard = asyncio.Event()
    async with messages(streams(_START, *_text(0, "half"), hangs=True)) as server:
        task = asyncio.ensure_future(claude(way, server).complete(request(stream=True), lambda _: heard.set()))
        async with asyncio.timeout(10):
            await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: server.left == 1)


@loop
async def test_claude_is_held_to_a_schema_and_then_by_the_prompt_alone(clients: DirectClients) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "number"}}, "additionalProperties": False}
    refusal = fails(400, "invalid_request_error", "output_config: Extra inputs are not permitted")
    abilities = Abilities()
    async with messages(refusal, whole("{}"), whole("{}")) as server:
        asked = claude(clients, server, abilities=abilities)
        for _ in range(2):
            assert (await asked.complete(request(schema=schema))).message.text == "{}"
    forms = [(one.get("output_config") or {}).get("format") for one in server.bodies]
    assert forms == [{"type": "json_schema", "schema": schema}, None, None]

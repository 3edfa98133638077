"""What differs from provider to provider: keys, and the marks of prompt caches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed
from donewhen.models.hosted import HostedModel, Transport
from donewhen.models.hosting import host_environment
from donewhen.models.keys import find_base, without_keys
from donewhen.models.protocol import Answered, Call
from tests.models.conftest import LOOK, request
from tests.models.test_money import Answers

CONVERSATION = (
    Message("system", "You work."),
    Message("user", "Make the tests pass."),
    Message("assistant", "", (ToolCall("c1", "look", '{"path": "a"}'),)),
    Message("tool", "contents of a", answers="c1"),
    Message("assistant", "", (ToolCall("c2", "look", '{"path": "b"}'),)),
    Message("tool", "contents of b", answers="c2"),
)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
        ("openrouter/some/model", "OPENROUTER_API_KEY"),
    ],
)
async def test_a_missing_key_is_told_before_anything_is_asked(name: str, variable: str) -> None:
    host = Answers()
    with pytest.raises(ModelFailed, match=f"set {variable} or DONEWHEN_API_KEY") as caught:
        await HostedModel(name, host).complete(request())
    assert caught.value.kind == "key_missing"
    assert not host.calls


@pytest.mark.parametrize("name", ["ollama/llama3", "bedrock/anthropic.claude-sonnet-4-5", "vertex_ai/gemini-2.5-pro"])
async def test_a_provider_with_credentials_of_its_own_needs_no_key(name: str) -> None:
    host = Answers()
    await HostedModel(name, host).complete(request())
    assert host.calls[0].key is None


async def test_an_endpoint_of_ones_own_gets_a_placeholder() -> None:
    host = Answers()
    await HostedModel("openai/mine", host, api_base="http://127.0.0.1:1/v1").complete(request())
    assert host.calls[0].key == "none"


async def test_the_key_is_asked_for_at_each_call() -> None:
    host, keys = Answers(), iter(["sk-first", "sk-second"])
    model = HostedModel("openai/gpt-4o", host, key=lambda: next(keys))
    for _ in range(2):
        await model.complete(request())
    assert [call.key for call in host.calls] == ["sk-first", "sk-second"]
    assert "sk-" not in repr(host.calls)


def test_the_host_gets_no_keys_and_no_proxy_for_this_machine() -> None:
    given = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "sk",
        "DONEWHEN_JUDGE_API_KEY": "sk",
        "GITHUB_TOKEN": "sk",
        "DB_PASSWORD": "sk",
        "OPENAI_BASE_URL": "http://elsewhere",
        "DEEPSEEK_API_BASE": "http://elsewhere",
        "OLLAMA_API_BASE": "http://next-door",
        "AWS_SECRET_ACCESS_KEY": "for Bedrock",
        "GOOGLE_APPLICATION_CREDENTIALS": "for Vertex AI",
        "NO_PROXY": "example.org",
    }
    found = host_environment(given)
    assert set(found) - {"no_proxy"} == {
        "PATH",
        "OLLAMA_API_BASE",
        "AWS_SECRET_ACCESS_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "NO_PROXY",
    }
    assert found["NO_PROXY"] == "example.org,localhost,127.0.0.1,::1"
    assert "OPENAI_BASE_URL" not in without_keys(given)
    assert find_base("openai", given) == "http://elsewhere"
    assert find_base("deepseek", given) == "http://elsewhere"
    assert find_base("gemini", given) is find_base("ollama", given) is find_base(None, given) is None


async def marks(name: str, stable: int, **options: Any) -> tuple[int, ...]:
    host = Answers()
    model = HostedModel(name, host, key=lambda: "k", **options)
    await model.complete(request(*CONVERSATION, stable=stable))
    return host.calls[0].marks


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("anthropic/claude-sonnet-4-5", (0, 5)),
        ("claude-sonnet-4-5", (0, 5)),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", (0, 5)),
        ("vertex_ai/claude-sonnet-4-5", (0, 5)),
        ("vertex_ai/gemini-2.5-pro", ()),
        ("bedrock/meta.llama3", ()),
        ("openai/claude-sonnet-4-5", ()),
        ("openai/gpt-4o", ()),
    ],
)
async def test_only_claude_at_its_providers_gets_its_prompt_marked(name: str, marked: tuple[int, ...]) -> None:
    assert await marks(name, 6) == marked


async def test_the_marks_are_at_the_system_message_and_the_last_stable_text() -> None:
    name = "anthropic/claude-sonnet-4-5"
    assert [await marks(name, stable) for stable in (0, 1, 2, 3, 4, 5, 99)] == [
        (),
        (0,),
        (0, 1),
        (0, 1),
        (0, 3),
        (0, 3),
        (0, 5),
    ]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_marked_prompt_reaches_anthropic_and_its_cache_is_counted(way: Transport) -> None:
    async with anthropic() as (base, bodies):
        model = HostedModel("anthropic/claude-sonnet-4-5", way, key=lambda: "sk-ant", api_base=base)
        reply = await model.complete(request(*CONVERSATION, tools=(LOOK,), stable=6))
    assert [(one.name, one.arguments) for one in reply.message.calls] == [("look", '{"path": "c"}')]
    used = reply.usage
    assert (used.input_tokens, used.output_tokens, used.cached_tokens) == (1150, 20, 1000)
    body = bodies[0]
    mark = {"type": "ephemeral"}
    assert body["system"][-1]["cache_control"] == mark
    assert json.dumps(body).count("cache_control") == 2
    result = body["messages"][-1]["content"][0]
    assert result["type"] == "tool_result"
    assert mark in (
        result.get("cache_control"),
        *(dict(part).get("cache_control") for part in result["content"] if isinstance(part, dict)),
    )


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_call_used_is_the_same_both_ways(way: Transport, stream: bool) -> None:
    from tests.scripted_models import ScriptedModels, says

    async with ScriptedModels({"gpt-4o": [says("yes").spending(1000, 100, cached=400)]}) as server:
        answered: Answered = await way.ask(
            Call("openai/gpt-4o", (CONVERSATION[1],), "sk", server.base_url, stream=stream)
        )
    assert (answered.input_tokens, answered.output_tokens, answered.cached_tokens) == (1000, 100, 400)


MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {"path": "c"}}],
    "stop_reason": "tool_use",
    "usage": {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_creation_input_tokens": 50,
        "cache_read_input_tokens": 1000,
    },
}


@asynccontextmanager
async def anthropic() -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """Anthropic's messages on loopback: its address, and what it was asked."""
    bodies: list[dict[str, Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        bodies.append(json.loads(await reader.readexactly(length)))
        reply = json.dumps(MESSAGE).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
        writer.write(f"Content-Length: {len(reply)}\r\n\r\n".encode() + reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", bodies

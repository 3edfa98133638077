"""Calls through a real model host to a scripted server: what is said, what comes back, what it takes to stop."""

from __future__ import annotations

import asyncio
import time

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed
from donewhen.models.hosted import HostedModel, Transport
from donewhen.ports import ModelFacts
from tests.models.conftest import ASKED, LOOK, Pauses, model, request, scripted, until
from tests.scripted_models import ScriptedModels, calls_all, drops, never_ends, raw_tool, says, tool

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_text_with_its_tokens(way: Transport) -> None:
    async with scripted(says("The tests.").spending(1200, 30, cached=1000)) as server:
        reply = await model(way, server).complete(request())
    assert (reply.message, reply.finish) == (Message("assistant", "The tests."), "stop")
    used = reply.usage
    assert (used.input_tokens, used.output_tokens, used.cached_tokens) == (1200, 30, 1000)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_a_filter_held_back_is_a_refusal_and_costs_what_it_did(
    way: Transport, stream: bool
) -> None:
    async with scripted(says("", finish_reason="content_filter").spending(1200, 3)) as server:
        with pytest.raises(ModelFailed, match="a filter of its provider held back the answer") as failed:
            await model(way, server).complete(request(stream=stream))
    assert (failed.value.kind, failed.value.usage.input_tokens) == ("refused", 1200)


@pytest.mark.parametrize("stream", [False, True])
async def test_tool_calls_work_on_the_base_install(way: Transport, stream: bool) -> None:
    reply_text = calls_all(tool("look", path="a"), tool("look", path="b"), text="I look.")
    async with scripted(reply_text.expecting("missing", tools=["look"])) as server:
        reply = await model(way, server).complete(request(tools=(LOOK,), stream=stream))
    assert reply.message.text == "I look."
    assert [(one.name, one.arguments) for one in reply.message.calls] == [
        ("look", '{"path": "a"}'),
        ("look", '{"path": "b"}'),
    ]
    assert len({one.id for one in reply.message.calls}) == 2
    assert reply.finish == "tool_calls"


async def test_a_stream_grows_and_counts_its_tokens(way: Transport) -> None:
    text = "Everything is proven but for the last requirement. " * 4
    heard: list[str] = []
    async with scripted(says(text, piece=10).paced(0.01).spending(70, 40)) as server:
        reply = await model(way, server).complete(request(stream=True), heard.append)
        assert server.requests[0].body["stream_options"] == {"include_usage": True}
    assert heard[-1] == reply.message.text == text
    assert len(heard) > 2
    assert all(text.startswith(one) for one in heard)
    assert heard == sorted(heard, key=len)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (70, 40)


@pytest.mark.parametrize("name", ["gpt-5.5", "gpt-5.5-mini", "gpt-4.1", "o4-mini"])
@pytest.mark.parametrize("stream", [False, True])
async def test_models_of_every_family_are_asked(way: Transport, name: str, stream: bool) -> None:
    """For some of them litellm hands on the client's marks for what wasn't given."""
    async with ScriptedModels({name: [says("Yes.")]}) as server:
        asked = HostedModel(f"openai/{name}", way, api_base=server.base_url, facts=ModelFacts(), sleep=Pauses())
        reply = await asked.complete(request(tools=(LOOK,), stream=stream))
    assert reply.message.text == "Yes."


async def test_a_call_without_stream_is_not_streamed(way: Transport) -> None:
    async with scripted(says("No.")) as server:
        await model(way, server).complete(request())
        assert not server.requests[0].body.get("stream")


async def test_a_conversation_travels_as_plain_messages(way: Transport) -> None:
    conversation = (
        Message("system", "You work."),
        ASKED,
        Message("assistant", "", (ToolCall("c1", "look", '{"path": "a"}'),)),
        Message("tool", "contents of a", answers="c1"),
        Message("assistant", "", (ToolCall("c2", "look", "{broken"),)),
        Message("tool", "the arguments are no JSON", answers="c2"),
        Message("assistant", ""),
        Message("user", "Go on."),
    )
    async with scripted(says("1"), says("2")) as server:
        asked = model(way, server)
        await asked.complete(request(*conversation, tools=(LOOK,)))
        await asked.complete(request(*conversation, tools=(LOOK,)))
        first, second = (one.body["messages"] for one in server.requests)
    assert first == second
    assert first[2]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"path": "a"}'}}
    ]
    assert first[3] == {"role": "tool", "content": "contents of a", "tool_call_id": "c1"}
    assert first[4]["tool_calls"][0]["function"]["arguments"] == '{"not_json": "{broken"}'
    assert first[6]["content"]
    assert "provider_specific_fields" not in str(first)


async def test_what_a_model_answers_can_be_sent_back(way: Transport) -> None:
    async with scripted(calls_all(raw_tool("look", "{oops")), says("fine")) as server:
        asked = model(way, server)
        reply = await asked.complete(request(tools=(LOOK,)))
        wish = reply.message.calls[0]
        assert wish.arguments == "{oops"
        await asked.complete(request(ASKED, reply.message, Message("tool", "no JSON", answers=wish.id), tools=(LOOK,)))


async def test_parameters_reach_the_model(way: Transport) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "number"}}}
    async with scripted(says("{}").expecting(response_format="json_schema")) as server:
        await model(way, server).complete(request(schema=schema, temperature=0.0, max_tokens=99))
        body = server.requests[0].body
    assert body["temperature"] == 0.0
    assert body["max_tokens"] == 99
    assert body["response_format"]["json_schema"]["schema"] == schema


@pytest.mark.slow
async def test_calls_run_side_by_side(way: Transport) -> None:
    async with scripted(*(says("yes").after(1) for _ in range(6))) as server:
        asked = model(way, server)
        begun = time.monotonic()
        await asyncio.gather(*(asked.complete(request()) for _ in range(6)))
        assert time.monotonic() - begun < 5.5


@pytest.mark.conformance("C13")
async def test_no_key_travels_but_as_the_authorization_of_its_call(way: Transport) -> None:
    async with scripted(says("a"), says("b")) as server:
        await model(way, server, key=lambda: "sk-first").complete(request())
        await model(way, server).complete(request())
        assert [one.key for one in server.requests] == ["sk-first", "none"]


async def test_cancelling_takes_effect_at_once_and_the_server_sees_it(way: Transport) -> None:
    async with scripted(never_ends(), says("after")) as server:
        heard = asyncio.Event()
        asked = model(way, server)
        task = asyncio.ensure_future(asked.complete(request(stream=True), lambda _: heard.set()))
        async with asyncio.timeout(10):
            await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: server.requests[0].disconnected)
        assert (await asked.complete(request())).message.text == "after"


async def test_a_listener_that_fails_ends_its_own_call_only(way: Transport) -> None:
    def broken(_: str) -> None:
        raise RuntimeError("the view is gone")

    async with scripted(never_ends(), says("fine")) as server:
        asked = model(way, server)
        with pytest.raises(RuntimeError, match="the view is gone"):
            await asked.complete(request(stream=True), broken)
        assert (await asked.complete(request())).message.text == "fine"


async def test_a_dropped_connection_does_not_hang(way: Transport) -> None:
    async with scripted(drops(), says("again")) as server:
        assert (await model(way, server).complete(request())).message.text == "again"

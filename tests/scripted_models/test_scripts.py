"""How a script is played, and what it demands."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.scripted_models import (
    ModelCall,
    Part,
    Reply,
    ScriptedModels,
    says,
)
from tests.scripted_models.client import TOOLS, Client
from tests.tools import each_row


def test_replies_are_played_in_order_by_model() -> None:
    script = {"worker": [says("one"), says("two")], "judge": [says("guilty")]}
    with ScriptedModels(script) as server, Client(server) as client:
        said = [client.ask(model=name).message["content"] for name in ("worker", "judge", "worker")]
        assert said == ["one", "guilty", "two"]
        server.verify()


def test_a_script_that_ran_out_fails_aloud() -> None:
    with ScriptedModels({"worker": [says("one")]}) as server, Client(server) as client:
        client.ask()
        answered = client.ask()
        assert answered.status == 500
        assert "the script ran out" in answered.error["message"]
        with pytest.raises(AssertionError, match="model worker: the script ran out"):
            server.verify()


def test_replies_that_nobody_asked_for_are_told() -> None:
    with ScriptedModels({"worker": [says("one"), says("two")]}) as server, Client(server) as client:
        client.ask()
        with pytest.raises(AssertionError, match="model worker: 1 replies unplayed"):
            server.verify()


def test_a_part_may_repeat_its_last_reply() -> None:
    part = Part([says("a"), says("b")], when_out="repeat_last")
    with ScriptedModels({"worker": part}) as server, Client(server) as client:
        assert [client.ask().message["content"] for _ in range(4)] == ["a", "b", "b", "b"]
        server.verify()


def test_a_callable_sees_the_request_as_values() -> None:
    seen: list[ModelCall] = []

    def judge(call: ModelCall) -> Reply:
        seen.append(call)
        return says("unmet" if "FAILED" in call.text else "met")

    with ScriptedModels({"judge": judge}) as server, Client(server) as client:
        form = {"type": "json_schema", "json_schema": {"name": "verdict"}}
        first = client.ask("1 FAILED", model="judge", tools=TOOLS, response_format=form)
        assert first.message["content"] == "unmet"
        assert client.ask("1 passed", model="judge").message["content"] == "met"
    assert seen[0].tools == ("run_command",)
    assert seen[0].response_format == form
    assert seen[0].last.role == "user"
    assert [call.number for call in seen] == [1, 2]
    assert seen[1].response_format is None


async def test_a_callable_may_be_async_and_serve_any_model() -> None:
    async def late(call: ModelCall) -> Reply:
        await asyncio.sleep(0)
        return says(call.model)

    async with ScriptedModels(late) as server:
        client = Client(server)
        assert (await asyncio.to_thread(client.ask, model="whoever")).message["content"] == "whoever"
        client.close()


@pytest.mark.parametrize(("returned", "told"), [(None, "returned NoneType"), (ValueError("odd"), "ValueError: odd")])
def test_a_callable_with_a_defect_reaches_the_test(returned: object, told: str) -> None:
    def broken(_: ModelCall) -> Reply:
        if isinstance(returned, Exception):
            raise returned
        return returned  # type: ignore[return-value]  # that is the defect

    with ScriptedModels({"worker": broken}) as server, Client(server) as client:
        assert client.ask().status == 500
        assert told in server.failures[0]


@each_row(
    "reply, told",
    [
        (says("").expecting("objective", "passed"), ""),
        (says("").expecting("absent"), "lack 'absent'"),
        (says("").expecting(lacks=["passed"]), "contain 'passed'"),
        (says("").expecting(matches=r"\d passed"), ""),
        (says("").expecting(matches=[r"\d failed"]), "don't match"),
        (says("").expecting(last="3 passed"), ""),
        (says("").expecting(last="objective"), "the last message lacks 'objective'"),
        (says("").expecting(tools=True, response_format=False), ""),
        (says("").expecting(tools=False), "tools were expected: False"),
        (says("").expecting(tools=["run_command"]), ""),
        (says("").expecting(tools=["report"]), "the tools ['report'] are not offered"),
        (says("").expecting(response_format=True), "a response_format was expected"),
        (says("").expecting(response_format="json_object"), "the response_format is missing"),
    ],
)
def test_a_reply_may_demand_what_the_request_says(reply: Reply, told: str) -> None:
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "the objective"}]},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "run_command", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "3 passed"},
    ]
    with ScriptedModels({"worker": [reply]}) as server, Client(server) as client:
        answered = client.ask(messages=messages, tools=TOOLS)
        assert answered.status == (500 if told else 200)
        assert told in "".join(server.failures)
        assert bool(server.failures) == bool(told)
        assert server.requests[0].failure == "".join(server.failures)


def test_an_expectation_with_a_broken_pattern_is_refused_at_once() -> None:
    with pytest.raises(re.error):
        says("").expecting(matches="(")

"""How a script is played, and what it demands."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.scripted_models import (
    ModelCall,
    Part,
    Prebuilt,
    Reply,
    ScriptedModels,
    calls,
    fails,
    never_ends,
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


@pytest.mark.parametrize(
    ("when_out", "said"), [("repeat_last", ["a", "b", "b", "b", "b"]), ("repeat_all", ["a", "b", "a", "b", "a"])]
)
def test_a_part_may_repeat(when_out: str, said: list[str]) -> None:
    part = Part([says("a"), says("b")], when_out=when_out)  # type: ignore[arg-type]  # the table's column
    with ScriptedModels({"worker": part}) as server, Client(server) as client:
        assert [client.ask().message["content"] for _ in range(5)] == said
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
        (says("").expecting(matches_not=[r"\d passed"]), "match"),
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


def test_a_part_refuses_what_the_model_lacks_and_keeps_its_reply() -> None:
    part = Part([says("at last")], unsupported=("json_schema", "temperature"))
    with ScriptedModels({"worker": part}) as server, Client(server) as client:
        assert client.ask(response_format={"type": "json_schema"}).error["param"] == "response_format"
        assert client.ask(temperature=0).error["param"] == "temperature"
        assert client.ask(response_format={"type": "json_object"}).message["content"] == "at last"
        server.verify()


def test_a_part_has_a_window() -> None:
    with ScriptedModels({"worker": Part([says("short")], window=100)}) as server, Client(server) as client:
        assert client.ask("x" * 1000).error["code"] == "context_length_exceeded"
        assert client.ask("x" * 100).message["content"] == "short"


def test_prebuilt_replies_go_round_whatever_is_asked() -> None:
    with ScriptedModels(Prebuilt(calls("run_command"), says("end"))) as server, Client(server) as client:
        reasons = [client.ask(model=name).json["choices"][0]["finish_reason"] for name in "abc"]
        assert reasons == ["tool_calls", "stop", "tool_calls"]
        assert client.stream().events[-1]["usage"]["completion_tokens"] == 1


def test_prebuilt_replies_may_stand_beside_others() -> None:
    with ScriptedModels({"fast": Prebuilt(says("f")), "*": [fails(503)]}) as server, Client(server) as client:
        assert client.ask(model="fast").message["content"] == "f"
        assert client.stream(model="fast").status == 200
        assert client.ask(model="other").status == 503


@pytest.mark.parametrize("replies", [(), (never_ends(),)])
def test_what_has_no_end_cannot_be_prebuilt(replies: tuple[Reply, ...]) -> None:
    with pytest.raises(ValueError, match="prebuilt"):
        Prebuilt(*replies)

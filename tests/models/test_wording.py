"""Models without tool calls of their own: they are told of the tools, and answer with an object."""

from __future__ import annotations

import json
import time

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.models.failures import is_about_tools
from donewhen.models.hosted import Transport, as_calls, in_words
from donewhen.models.protocol import Failure
from tests.models.conftest import LOOK, model, request
from tests.scripted_models import ModelCall, Reply, ScriptedModels, fails, says
from tests.tools import each_row

ACTION = '{"say": "I look at a.", "tool": "look", "arguments": {"path": "a"}}'


@pytest.mark.asyncio(loop_scope="session")
async def test_a_model_without_tool_calls_works_with_tools_all_the_same(way: Transport) -> None:
    def play(call: ModelCall) -> Reply:
        if call.tools:
            return fails(400, "registry/some-model does not support tools")
        return says(ACTION if "contents of a" not in call.text else "It is done.")

    conversation = [Message("system", "You work."), Message("user", "Look.")]
    async with ScriptedModels({"scripted": play}) as server:
        asked = model(way, server)
        reply = await asked.complete(request(*conversation, tools=(LOOK,), stream=True))
        call = reply.message.calls[0]
        assert (reply.finish, reply.message.text) == ("tool_calls", "I look at a.")
        assert (call.name, json.loads(call.arguments)) == ("look", {"path": "a"})
        conversation += [reply.message, Message("tool", "contents of a", answers=call.id)]
        last = await asked.complete(request(*conversation, tools=(LOOK,)))
        assert (last.message.text, last.finish) == ("It is done.", "stop")
        bodies = [one.body for one in server.requests]
    assert [bool(body.get("tools")) for body in bodies] == [True, False, False]
    assert "Looks at a file." in bodies[1]["messages"][0]["content"]
    assert bodies[1]["response_format"]["type"] == "json_schema"
    assert [one["role"] for one in bodies[2]["messages"]] == ["system", "user", "assistant", "user"]
    assert json.loads(bodies[2]["messages"][2]["content"]) == json.loads(ACTION)


@pytest.mark.parametrize("text", [ACTION, f"```json\n{ACTION}\n```", f"I will.\n```\n{ACTION}\n```"])
def test_an_action_is_a_call(text: str) -> None:
    assert as_calls(Message("assistant", text), [LOOK]).calls[0].name == "look"


@each_row("text", ["It is done.", "{}", '{"tool": "erase", "arguments": {}}', "[1]", '{"tool": 3}'])
def test_anything_else_is_text(text: str) -> None:
    said = Message("assistant", text)
    assert as_calls(said, [LOOK]) == said


def test_two_actions_have_two_ids() -> None:
    ids = {as_calls(Message("assistant", ACTION), [LOOK]).calls[0].id for _ in range(2)}
    assert len(ids) == 2


def test_without_a_system_message_the_tools_are_one() -> None:
    worded = in_words(request(Message("user", "Look."), tools=(LOOK,), stable=1))
    assert [one.role for one in worded.messages] == ["system", "user"]
    assert worded.stable == 2
    assert in_words(request(Message("user", "Look."))) == request(Message("user", "Look."))


def test_broken_arguments_are_told_as_they_were() -> None:
    wish = Message("assistant", "", (ToolCall("1", "look", "{broken"),))
    told = json.loads(in_words(request(wish, tools=(LOOK,))).messages[-1].text)
    assert told["arguments"] == "{broken"


@each_row(
    "said, meant",
    [
        ("registry.ollama.ai/library/gemma does not support tools", True),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', True),
        ("tools param requires --jinja flag", True),
        ("Unsupported parameter: 'tools' is not supported with this model.", True),
        ("Function calling is not supported by this model", True),
        ("Unsupported parameter: 'temperature' is not supported with this model.", False),
        ("Invalid schema for function 'look'", False),
        ("tool_use ids were found without tool_result blocks", False),
    ],
)
def test_what_servers_say_of_tools_is_understood(said: str, meant: bool) -> None:
    assert is_about_tools(Failure("BadRequestError", said, 400)) is meant


@each_row("around", ["{}", "Here:\n```json\n{}\n```", "```{}``` and ```more```", "```\n{}\n"])
def test_an_action_is_found_in_fences(around: str) -> None:
    read = as_calls(Message("assistant", around.replace("{}", ACTION)), (LOOK,))
    assert [call.name for call in read.calls] == ["look"]


def test_an_action_may_hold_a_fence_itself() -> None:
    action = json.dumps({"tool": "look", "arguments": {"path": "a ```x``` b"}})
    read = as_calls(Message("assistant", f"```json\n{action}\n```"), (LOOK,))
    assert json.loads(read.calls[0].arguments) == {"path": "a ```x``` b"}


def test_a_long_reply_of_fences_is_read_at_once() -> None:
    begun = time.process_time()
    as_calls(Message("assistant", "```{" * 100_000), (LOOK,))
    assert time.process_time() - begun < 2

"""Models that an editor offers, asked through a client in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed
from donewhen.models.editor import EditorTransport, abilities
from donewhen.models.failures import TRIES
from donewhen.models.hosted import HostedModel
from donewhen.models.routing import Routes
from donewhen.ports import EditorSilent
from tests.models.conftest import ASKED, LOOK, Pauses, request

pytestmark = pytest.mark.asyncio(loop_scope="session")
NAME = "editor/copilot/gpt-4o"


class Client:
    """Answers in turn, and remembers what it was asked. An exception is raised instead."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[Mapping[str, Any]] = []

    async def __call__(self, asked: Mapping[str, Any], timeout: float) -> object:
        self.asked.append(asked)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def model(client: Client, pauses: Pauses | None = None) -> HostedModel:
    return HostedModel(NAME, EditorTransport(client), sleep=pauses or Pauses(), abilities=abilities())


def problem(kind: str, message: str = "") -> dict[str, Any]:
    return {"problem": {"kind": kind, "message": message}}


async def test_a_text_with_its_tokens_and_no_known_cost() -> None:
    client = Client({"text": "The tests.", "calls": [], "inputTokens": 1200, "outputTokens": 30})
    heard: list[str] = []
    reply = await model(client).complete(request(stream=True), heard.append)
    assert (reply.message, reply.finish) == (Message("assistant", "The tests."), "stop")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.usd) == (1200, 30, None)
    assert heard == ["The tests."]


async def test_tokens_that_nobody_counted_are_estimated() -> None:
    reply = await model(Client({"text": "The tests."})).complete(request())
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0


async def test_a_conversation_with_calls_travels_there_and_back() -> None:
    client = Client({"text": "", "calls": [{"id": "c2", "name": "look", "arguments": '{"path": "b"}'}]})
    conversation = (
        Message("system", "You work."),
        ASKED,
        Message("assistant", "", (ToolCall("c1", "look", '{"path": "a"}'),)),
        Message("tool", "contents of a", answers="c1"),
    )
    reply = await model(client).complete(request(*conversation, tools=(LOOK,), temperature=0.0, max_tokens=9))
    assert reply.message.calls == (ToolCall("c2", "look", '{"path": "b"}'),)
    assert reply.finish == "tool_calls"
    (asked,) = client.asked
    assert asked["model"] == NAME
    assert asked["messages"] == [
        {"role": "system", "text": "You work."},
        {"role": "user", "text": ASKED.text},
        {"role": "assistant", "text": "", "calls": [{"id": "c1", "name": "look", "arguments": '{"path": "a"}'}]},
        {"role": "tool", "text": "contents of a", "answers": "c1"},
    ]
    assert asked["tools"] == [{"name": LOOK.name, "description": LOOK.description, "parameters": LOOK.parameters}]
    assert asked["schema"] is None


async def test_a_schema_is_handed_on() -> None:
    client, schema = Client({"text": "{}"}), {"type": "object"}
    await model(client).complete(request(schema=schema))
    assert client.asked[0]["schema"] == schema


async def test_a_model_without_tools_is_asked_for_an_action() -> None:
    client = Client(
        problem("failed", "this model does not support tools"),
        {"text": '{"say": "I look.", "tool": "look", "arguments": {"path": "a"}}'},
    )
    reply = await model(client).complete(request(tools=(LOOK,)))
    assert [(one.name, one.arguments) for one in reply.message.calls] == [("look", '{"path": "a"}')]
    assert client.asked[1]["tools"] == []
    assert client.asked[1]["schema"]["properties"]["tool"]["enum"] == ["look"]


@pytest.mark.parametrize(
    ("kind", "means", "words"),
    [
        ("consent", "key_refused", "was not allowed to use editor/copilot/gpt-4o"),
        ("blocked", "refused", "refuses what it was sent"),
        ("gone", "no_such_model", "does not offer editor/copilot/gpt-4o"),
        ("quota", "no_credit", "is used up"),
    ],
)
async def test_what_asking_again_cannot_help_is_said_at_once(kind: str, means: str, words: str) -> None:
    client = Client(problem(kind, "in the editor's words"))
    with pytest.raises(ModelFailed, match="in the editor's words") as failed:
        await model(client).complete(request())
    assert failed.value.kind == means
    assert words in str(failed.value)
    assert len(client.asked) == 1


async def test_a_prompt_that_is_too_long_is_said_to_be_that() -> None:
    with pytest.raises(ModelFailed) as failed:
        await model(Client(problem("failed", "Message exceeds the token limit: too many tokens"))).complete(request())
    assert failed.value.kind == "too_long"


async def test_a_window_that_closes_is_an_outage_and_the_next_one_serves() -> None:
    client, pauses = Client(EditorSilent("the window was closed"), {"text": "Here again."}), Pauses()
    reply = await model(client, pauses).complete(request())
    assert reply.message.text == "Here again."
    assert len(pauses.seconds) == 1


@pytest.mark.parametrize(
    "answer",
    [
        EditorSilent("the window was closed"), problem("failed", "no luck"), None, {"text": 1}, {"text": ""},
        {"calls": [{"id": "1"}]}, {"calls": [7]},
    ],
)  # fmt: skip
async def test_answers_that_are_none_are_an_outage_in_the_end(answer: object) -> None:
    client = Client(*[answer] * TRIES["malformed"])
    with pytest.raises(ModelFailed, match=r"not a reply|answers|fails") as failed:
        await model(client).complete(request())
    assert failed.value.kind in ("malformed", "failing")
    assert client.answers == []


async def test_cancelling_takes_effect_at_once() -> None:
    withdrawn = asyncio.Event()

    async def never(asked: Mapping[str, Any], timeout: float) -> object:
        try:
            return await asyncio.Event().wait()
        finally:
            withdrawn.set()

    asking = asyncio.ensure_future(HostedModel(NAME, EditorTransport(never)).complete(request()))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert withdrawn.is_set()


async def test_without_an_editor_it_is_said_where_such_a_model_can_be_asked() -> None:
    def no_host() -> Any:
        raise AssertionError("litellm is not asked for an editor's model")

    routes = Routes(no_host, lambda: True)
    routes.warm(NAME, None)
    with pytest.raises(ModelFailed, match="run the goal in that editor") as failed:
        await HostedModel(NAME, routes).complete(request())
    assert failed.value.kind == "refused"

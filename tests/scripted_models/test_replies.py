"""What comes over the wire for each reply."""

from __future__ import annotations

import http.client
import json
import time

import pytest

from tests.scripted_models import (
    Reply,
    ScriptedModels,
    breaks,
    calls,
    calls_all,
    context_exceeded,
    drops,
    fails,
    html,
    never_ends,
    out_of_quota,
    raw_tool,
    says,
    tool,
    truncated,
    unsupported,
    verbatim,
)
from tests.scripted_models.client import Answered, Client
from tests.tools import each_row


def asked(reply: Reply) -> Answered:
    with ScriptedModels({"worker": [reply]}) as server, Client(server) as client:
        return client.ask()


def streamed(reply: Reply, **more: object) -> Answered:
    with ScriptedModels({"worker": [reply]}) as server, Client(server) as client:
        return client.stream(**more)


def test_a_text_is_a_completion() -> None:
    answered = asked(says("Grüße, 世界", reasoning="Be polite."))
    assert answered.status == 200
    assert answered.json["object"] == "chat.completion"
    assert answered.json["model"] == "worker"
    assert answered.message["content"] == "Grüße, 世界"
    assert answered.message["reasoning_content"] == "Be polite."
    assert answered.json["choices"][0]["finish_reason"] == "stop"


def test_calls_of_tools_have_ids_and_arguments_as_text() -> None:
    answered = asked(calls_all(tool("read_file", path="a.py"), raw_tool("run_command", '{"command": '), text="So:"))
    first, second = answered.message["tool_calls"]
    assert json.loads(first["function"]["arguments"]) == {"path": "a.py"}
    assert second["function"] == {"name": "run_command", "arguments": '{"command": '}
    assert first["id"] != second["id"]
    assert answered.message["content"] == "So:"
    assert answered.json["choices"][0]["finish_reason"] == "tool_calls"


def test_without_text_the_content_is_null() -> None:
    assert asked(calls("run_command", command="pytest")).message["content"] is None


def test_an_argument_of_a_tool_may_have_any_name() -> None:
    made = asked(calls("rename", name="a", self="b"))
    assert json.loads(made.message["tool_calls"][0]["function"]["arguments"]) == {"name": "a", "self": "b"}


def test_a_stream_adds_up_to_the_text() -> None:
    answered = streamed(says("A text that needs several events.", reasoning="Think first.", piece=5))
    assert answered.headers["content-type"].startswith("text/event-stream")
    deltas = [event["choices"][0]["delta"] for event in answered.events if event["choices"]]
    assert deltas[0]["role"] == "assistant"
    assert "".join(delta.get("content", "") for delta in deltas) == "A text that needs several events."
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "Think first."
    assert len(deltas) > 7
    assert [e["choices"][0]["finish_reason"] for e in answered.events if e["choices"]][-1] == "stop"


def test_a_stream_of_tool_calls_carries_name_first_and_arguments_in_pieces() -> None:
    answered = streamed(calls_all(tool("a", text="x" * 60), tool("b")))
    pieces = [
        one for event in answered.events for choice in event["choices"] for one in choice["delta"].get("tool_calls", [])
    ]
    opening = [piece for piece in pieces if "id" in piece]
    assert [(one["index"], one["function"]["name"]) for one in opening] == [(0, "a"), (1, "b")]
    arguments = "".join(piece["function"]["arguments"] for piece in pieces if piece["index"] == 0)
    assert json.loads(arguments) == {"text": "x" * 60}
    assert len([piece for piece in pieces if piece["index"] == 0]) > 3


def test_usage_ends_a_stream_only_where_it_was_asked_for() -> None:
    with ScriptedModels({"worker": [says("x").spending(7, 5, cached=3)] * 2}) as server, Client(server) as client:
        last = client.stream().events[-1]
        assert last["choices"] == []
        assert last["usage"]["prompt_tokens_details"]["cached_tokens"] == 3
        assert all(event["choices"] and "usage" not in event for event in client.ask(stream=True).events)


@pytest.mark.parametrize(
    ("reply", "prompt", "completion"),
    [(says("12345678"), 10, 2), (says("x").spending(100, 20), 100, 20), (says("x").spending(prompt=9), 9, 1)],
)
def test_tokens_are_a_quarter_of_the_characters_unless_given(reply: Reply, prompt: int, completion: int) -> None:
    with ScriptedModels({"worker": [reply]}) as server, Client(server) as client:
        usage = client.ask("x" * 40).json["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (prompt, completion)
    assert usage["total_tokens"] == prompt + completion


def test_only_answers_spend_tokens() -> None:
    with pytest.raises(TypeError, match="says"):
        fails(500).spending(1, 1)


@each_row(
    "reply, status, code, param",
    [
        (fails(429, retry_after=0.1), 429, "rate_limit_exceeded", None),
        (out_of_quota(), 429, "insufficient_quota", None),
        (fails(500), 500, None, None),
        (fails(401), 401, "invalid_api_key", None),
        (fails(404), 404, "model_not_found", None),
        (context_exceeded(100, 200), 400, "context_length_exceeded", "messages"),
        (unsupported("response_format"), 400, "unsupported_parameter", "response_format"),
        (fails(418, "No coffee.", code="teapot"), 418, "teapot", None),
    ],
)
def test_failures_have_the_real_shape(reply: Reply, status: int, code: str | None, param: str | None) -> None:
    for answered in (asked(reply), streamed(reply)):
        assert answered.status == status
        assert (answered.error["code"], answered.error["param"]) == (code, param)
        assert answered.error["message"]
        assert answered.error["type"]


def test_a_rate_limit_says_when_to_come_back() -> None:
    assert asked(fails(429, retry_after=0.25)).headers["retry-after"] == "0.25"
    assert "retry-after" not in asked(fails(429)).headers


def test_garbage_is_a_whole_http_message() -> None:
    page = asked(html())
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    for cut in (asked(truncated()).body, asked(verbatim('{"a": ')).body):
        with pytest.raises(ValueError):
            json.loads(cut)
    assert b'"role": "assist\n\n' in streamed(truncated()).body


def test_a_connection_drops_before_the_reply() -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        asked(drops())


@pytest.mark.parametrize("ask", [asked, streamed])
def test_a_connection_drops_within_the_reply(ask: type[Answered]) -> None:
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(drops(after_events=2))
    assert caught.value.partial


def test_a_stream_may_break_with_an_error() -> None:
    answered = streamed_raw(breaks(after_events=2))
    lines = [json.loads(line.removeprefix("data: ")) for line in answered.split("\n\n") if line]
    assert [next(iter(line)) for line in lines] == ["id", "id", "error"]
    assert asked(breaks()).status == 500


def streamed_raw(reply: Reply) -> str:
    return streamed(reply).body.decode()


def test_delays_come_before_the_first_byte_and_paces_between_events() -> None:
    with ScriptedModels({"worker": [says("x" * 40, piece=10).after(0.1).paced(0.02)]}) as server:
        started = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        body = json.dumps({"model": "worker", "messages": [], "stream": True})
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        first = time.monotonic() - started
        response.read()
        assert first >= 0.1
        assert time.monotonic() - started >= 0.1 + 6 * 0.02
        connection.close()


def test_an_endless_stream_goes_on_until_the_client_leaves() -> None:
    with ScriptedModels({"worker": [never_ends("more ", pace=0.001)]}) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        body = json.dumps({"model": "worker", "messages": [], "stream": True})
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        assert sum(b"more" in response.readline() for _ in range(60)) >= 15
        assert not server.requests[0].ended
        response.close()
        connection.close()
        server.wait(lambda s: s.requests[0].disconnected)

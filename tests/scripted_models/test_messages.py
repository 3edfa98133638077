"""The Messages API as a client sees it."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.scripted_models import breaks, calls, calls_all, fails, says, tool
from tests.scripted_models.messages import BESIDE, ScriptedMessages

TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]


async def asked(server: ScriptedMessages, **body: Any) -> tuple[int, str]:
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}], **body}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{server.root_url}/v1/messages", json=request) as response,
    ):
        return response.status, await response.text()


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


async def test_a_message_comes_whole_or_as_a_stream_of_events() -> None:
    async with ScriptedMessages([says("It is done."), calls_all(tool("Bash", command="ls"), text="Look")]) as server:
        _, whole = await asked(server, tools=TOOLS)
        _, streamed = await asked(server, tools=TOOLS, stream=True)
    message = json.loads(whole)
    assert (message["content"], message["stop_reason"]) == ([{"type": "text", "text": "It is done."}], "end_turn")
    kinds = [one["type"] for one in events(streamed)]
    assert (kinds[0], kinds[-2:]) == ("message_start", ["message_delta", "message_stop"])
    called = [one for one in events(streamed) if one.get("content_block", {}).get("type") == "tool_use"]
    assert [one["content_block"]["name"] for one in called] == ["Bash"]
    server.verify()


async def test_results_of_tools_and_offered_tools_can_be_expected() -> None:
    result = [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "2 passed"}]}]
    async with ScriptedMessages([says("ok").expecting("2 passed", tools=["Bash"]), says("ok")]) as server:
        await asked(server, tools=TOOLS, messages=[{"role": "user", "content": result}])
        assert not server.failures
        with pytest.raises(AssertionError, match="unplayed"):
            server.verify()


async def test_what_is_asked_without_tools_takes_nothing_from_the_script() -> None:
    async with ScriptedMessages({"*": [calls("Bash", command="ls")], BESIDE: [says("A title")]}) as server:
        _, beside = await asked(server)
        _, main = await asked(server, tools=TOOLS)
    assert json.loads(beside)["content"][0]["text"] == "A title"
    assert json.loads(main)["content"][0]["input"] == {"command": "ls"}


async def test_failures_have_the_shape_of_the_api() -> None:
    async with ScriptedMessages([fails(429), breaks(2)]) as server:
        status, refused = await asked(server, tools=TOOLS)
        _, broken = await asked(server, tools=TOOLS, stream=True)
    assert (status, json.loads(refused)["error"]["type"]) == (429, "rate_limit_error")
    assert events(broken)[-1]["type"] == "error"

"""litellm takes the scripted replies for those of the real service: it runs once, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scripted_models import (
    ScriptedModels,
    breaks,
    calls,
    calls_all,
    context_exceeded,
    drops,
    fails,
    html,
    never_ends,
    says,
    tool,
    truncated,
    unsupported,
)

pytestmark = pytest.mark.slow

SCRIPT = {
    "plain": [
        calls_all(tool("run_command", command="pytest"), text="So:", reasoning="Hm.").spending(100, 20, cached=64)
    ],
    "streaming": [calls("run_command", command="pytest -q " + "x" * 100).spending(100, 20).paced(0.001)],
    "limited": [fails(429, retry_after=0.1)],
    "exceeded": [context_exceeded(100, 200)],
    "unauthorized": [fails(401)],
    "unsupported": [unsupported("tools")],
    "html": [html()],
    "truncated": [truncated()],
    "drops": [drops()],
    "down": [fails(500)],
    "endless": [never_ends()],
    "cut": [drops(after_events=3)],
    "breaks": [breaks(after_events=3)],
    "unasked": [says("nobody asks for this")],
}


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModels]:
    with ScriptedModels(SCRIPT) as server:
        yield server


@pytest.fixture(scope="module")
def found(server: ScriptedModels) -> Any:
    command = [sys.executable, str(Path(__file__).with_name("litellm_client.py")), server.base_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_plain_reply_is_understood(found: Any) -> None:
    assert found["plain"] == {
        "text": "So:",
        "reasoning": "Hm.",
        "calls": [["call_1_1", "run_command", '{"command": "pytest"}']],
        "finish": "tool_calls",
        "prompt": 100,
        "cached": 64,
    }


def test_a_stream_is_understood(found: Any) -> None:
    made = found["streaming"]
    ((name, function, arguments),) = made["calls"]
    assert (name, function, json.loads(arguments)) == ("call_1_1", "run_command", {"command": "pytest -q " + "x" * 100})
    assert (made["finish"], made["completion"]) == ("tool_calls", 20)
    assert made["chunks"] > 4


@pytest.mark.parametrize(
    ("model", "error", "status"),
    [
        ("limited", "RateLimitError", 429),
        ("exceeded", "ContextWindowExceededError", 400),
        ("unauthorized", "AuthenticationError", 401),
        ("unsupported", "BadRequestError", 400),
        ("down", "InternalServerError", 500),
        ("html", "InternalServerError", 500),
        ("truncated", "InternalServerError", 500),
        ("drops", "InternalServerError", 500),
    ],
)
def test_a_failure_is_what_litellm_calls_it(found: Any, model: str, error: str, status: int) -> None:
    assert (found[model]["error"], found[model]["status"]) == (error, status), found[model]


def test_a_rate_limit_says_when_to_come_back(found: Any) -> None:
    assert found["limited"]["retry_after"] == "0.1"


@pytest.mark.parametrize("model", ["cut", "breaks"])
def test_a_stream_that_ends_badly_raises(found: Any, model: str) -> None:
    assert found[model]["error"] != "none"


def test_leaving_a_stream_is_seen(found: Any, server: ScriptedModels) -> None:
    assert found["leaving"] == {"seen": 3}
    (exchange,) = (one for one in server.requests if one.model == "endless")
    server.wait(lambda _: exchange.disconnected)


def test_each_was_asked_once_with_the_key(found: Any, server: ScriptedModels) -> None:
    assert {one.key for one in server.requests} == {"sk-test"}
    assert len(server.requests) == len(SCRIPT) - 1
    assert server.unplayed == {"unasked": 1}
    assert not server.failures

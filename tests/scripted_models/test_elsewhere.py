"""Other APIs as a client sees them; real agents speak them in `tests/real_agents`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scripted_models import calls, says
from tests.scripted_models.client import Client
from tests.scripted_models.elsewhere import ScriptedGemini, ScriptedMessages, ScriptedResponses

HELLO = {"role": "user", "content": "hello"}
TOOL = {"name": "Bash"}
FORMS: list[Any] = [
    (ScriptedMessages, "/v1/messages", {"model": "m", "messages": [HELLO]}, {"tools": [TOOL]}),
    (ScriptedResponses, "/v1/responses", {"model": "m", "input": [HELLO]}, {"tools": [TOOL]}),
    (
        ScriptedGemini,
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]},
        {"tools": [{"functionDeclarations": [TOOL]}]},
    ),
]


@pytest.mark.parametrize(("form", "path", "body", "offering"), FORMS)
def test_a_request_that_offers_tools_is_answered_by_the_script(form: Any, path: str, body: Any, offering: Any) -> None:
    script = [calls("Bash", command="ls").expecting("hello", tools=["Bash"]), says("It is done.")]
    with form(script) as server, Client(server) as client:
        beside = client.send(json.dumps(body), path)
        called = client.send(json.dumps({**body, **offering}), path)
        streamed = client.send(
            json.dumps({**body, **offering, "stream": True}), path.replace("generate", "streamGenerate")
        )
    assert b'"ok"' in beside.body
    assert all(one in called.body for one in (b'"Bash"', b"command", b"ls"))
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert b"It is done." in streamed.body
    server.verify()

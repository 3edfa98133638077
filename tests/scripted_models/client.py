"""What asks the scripted models: plain HTTP, without a client library's own ideas."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.scripted_models import ScriptedModels

TOOLS = [{"type": "function", "function": {"name": "run_command", "parameters": {"type": "object"}}}]


@dataclass(frozen=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> Any:
        return self.json["choices"][0]["message"]

    @property
    def error(self) -> Any:
        return self.json["error"]


class Client:
    """Sends one request after another over one connection."""

    def __init__(self, server: ScriptedModels) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def ask(self, text: str = "Hello", model: str = "worker", **more: Any) -> Answered:
        return self.send(json.dumps({"model": model, "messages": [{"role": "user", "content": text}], **more}))

    def send(self, body: str, path: str = "/v1/chat/completions", method: str = "POST", **headers: str) -> Answered:
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        return Answered(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

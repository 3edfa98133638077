"""Both ways to a model, one of them through the host that this worker shares; scripted models answer."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from donewhen.core.calls import Message
from donewhen.models.direct.clients import DirectClients
from donewhen.models.hosted import HostedModel, Transport
from donewhen.ports import ModelFacts, ModelRequest, ToolSpec
from tests.agent.host import SharedHost
from tests.scripted_models import Reply, ScriptedModels

ASKED = Message("user", "What is still missing?")
LOOK = ToolSpec("look", "Looks at a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
NAME = "openai/scripted"


def request(*messages: Message, **options: object) -> ModelRequest:
    return ModelRequest(messages or (ASKED,), **options)  # type: ignore[arg-type]


@dataclass
class Pauses:
    """A sleep that takes no time, and remembers."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def until(happens: Callable[[], bool]) -> None:
    """Waits for a condition that nobody signals."""
    async with asyncio.timeout(5):
        while not happens():  # noqa: ASYNC110 # another process, or its end
            await asyncio.sleep(0.01)


@pytest.fixture
def host(shared_host: SharedHost) -> SharedHost:
    return shared_host


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def clients() -> AsyncIterator[DirectClients]:
    # Both now: the garbage that a thread collects while it imports one may hold generators that this loop is closing,
    # and Python 3.11 says of these that they are executing already.
    importlib.import_module("donewhen.models.direct.anthropic")
    importlib.import_module("donewhen.models.direct.openai")
    clients = DirectClients()
    yield clients
    await clients.close()


@pytest.fixture(params=["litellm", "official"])
def way(request: pytest.FixtureRequest) -> Transport:
    """Each way by which a model is asked: the same is expected of both."""
    return request.getfixturevalue({"litellm": "host", "official": "clients"}[request.param])


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


def scripted(*replies: Reply) -> ScriptedModels:
    return ScriptedModels({"scripted": list(replies)})


def model(way: Transport, server: ScriptedModels, pauses: Pauses | None = None, **options: object) -> HostedModel:
    given = {"api_base": server.base_url, "facts": ModelFacts(), "sleep": pauses or Pauses(), **options}
    return HostedModel(NAME, way, **given)  # type: ignore[arg-type]

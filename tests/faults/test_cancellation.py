"""A cancellation that comes together with what was waited for is not lost: a run would wait for ever."""

from __future__ import annotations

import ast
import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lsprotocol import types

import donewhen
from donewhen.core.events import RunOptions
from donewhen.core.state import RunState
from donewhen.engine.active import ActiveRun, Parts
from donewhen.engine.setup import SystemClock
from donewhen.lsp.protocol import Server
from donewhen.workspace.manifest import Manifest
from donewhen.workspace.settling import Notifier, Quiet, wait_settled
from tests.core.builders import goal, requirement

STEPS = range(6)


async def ends_when_cancelled(task: asyncio.Task[Any], steps: int) -> bool:
    """Whether a task that just got what it waits for ends, cancelled so many steps of the loop later."""
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=2.0)
    return bool(done)


async def waiting(step: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.ensure_future(step)
    for _ in range(10):
        await asyncio.sleep(0)
    return task


@pytest.mark.parametrize("steps", STEPS)
async def test_while_files_settle(steps: int) -> None:
    notifier, manifest = Notifier(), Manifest({})

    async def look() -> Manifest:
        return manifest

    task = await waiting(wait_settled(look, manifest, notifier, Quiet(), lambda: False))
    notifier.notify()
    assert await ends_when_cancelled(task, steps)


@pytest.mark.parametrize("steps", STEPS)
async def test_while_a_run_changes(steps: int) -> None:
    state = RunState("run", "pursue", goal(requirement(1, "it works", "check")), RunOptions("command"))
    parts = cast("Parts", SimpleNamespace(setup=SimpleNamespace(clock=SystemClock())))
    run = ActiveRun(parts, "token", lambda _: None, state)

    async def for_ever() -> None:
        while True:
            await run.changed(run.state.sequence, 10.0)

    task = await waiting(for_ever())
    run.touch()
    assert await ends_when_cancelled(task, steps)


@pytest.mark.parametrize("steps", STEPS)
async def test_while_a_client_is_asked(steps: int) -> None:
    sent: list[bytes] = []
    protocol = Server().protocol
    protocol.set_writer(cast("Any", SimpleNamespace(write=sent.append)))

    question = types.ShowMessageRequestParams(types.MessageType.Info, "?")

    async def for_ever() -> None:
        while True:
            await protocol.send_request_async("window/showMessageRequest", question)

    task = await waiting(for_ever())
    number = json.loads(sent[0].partition(b"\r\n\r\n")[2])["id"]
    protocol.handle_message({"jsonrpc": "2.0", "id": number, "result": None})
    assert await ends_when_cancelled(task, steps)


def test_nothing_that_a_run_waits_for_loses_cancellations() -> None:
    """`asyncio.wait_for` does, before Python 3.12; `asyncio.timeout` does not."""
    root = Path(donewhen.__file__).parent
    parts = ("engine", "workspace", "workers", "evidence", "store", "lsp")
    files = [file for part in parts for file in (root / part).rglob("*.py")]
    assert {file.relative_to(root).parts[0] for file in files} == set(parts)
    found = [file.name for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))) if _waits_for(node)]
    assert not found, f"asyncio.wait_for in {found}: use asyncio.timeout"


def _waits_for(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "wait_for"

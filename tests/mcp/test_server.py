"""The tools and resources as a client gets them, with the real engine."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from donewhen.app.services import Services
from donewhen.settings.loading import load_settings
from tests import forked
from tests.cli.fakes import desk

if TYPE_CHECKING:
    from mcp.client import Client

GOAL = "# Ship it\n\n- [ ] It is done\n  - check: `grep -q done product.txt`\n"
READING = {"get_goal_status", "list_unmet_requirements", "get_evidence", "request_audit"}
WRITING = {"set_goal", "start_run", "stop_run"}


@asynccontextmanager
async def client(folder: Path, *, goal: str | None = GOAL, allow_write: bool = False) -> AsyncGenerator[Client]:
    from mcp.client import Client  # takes a second, which each process that collects this would pay

    from donewhen.extras.mcp.server import Served, opened_server

    root = folder / "workspace"
    root.mkdir(exist_ok=True)
    if goal is not None:
        (root / "GOAL.md").write_text(goal)
    settings = load_settings({}, {}, root, user_file=folder / "no")
    served = Served(root, folder / "state", settings, allow_write)
    async with opened_server(Services(), served) as server, Client(server) as connected:
        yield connected


async def told(connected: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await connected.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def refused(connected: Client, tool: str, **arguments: Any) -> str:
    result = await connected.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text  # type: ignore[union-attr]


async def test_no_tool_is_an_act_of_a_person(tmp_path: Path) -> None:
    async with client(tmp_path) as one:
        assert {tool.name for tool in (await one.list_tools()).tools} == READING
    async with client(tmp_path, allow_write=True) as one:
        assert {tool.name for tool in (await one.list_tools()).tools} == READING | WRITING
        assert not any(re.search(r"\s{2}|\n", tool.description or "") for tool in (await one.list_tools()).tools)


async def test_an_agent_finds_out_what_is_missing_and_then_that_it_is_proven(tmp_path: Path) -> None:
    async with client(tmp_path) as one:
        before = await told(one, "get_goal_status")
        assert (before["run"], before["proven"], before["total"]) == (None, False, 1)
        audited = await told(one, "request_audit")
        assert audited["requirements"][0]["status"] == "unmet"
        assert audited["status"] == "not proven"
        unmet = await told(one, "list_unmet_requirements")
        assert [each["label"] for each in unmet["requirements"]] == ["R1"]
        evidence = await told(one, "get_evidence", evidence=unmet["requirements"][0]["evidence"][0])
        assert "grep -q done product.txt" in evidence["text"]
        (tmp_path / "workspace" / "product.txt").write_text("done\n")
        assert (await told(one, "get_goal_status"))["stale"]
        assert (await told(one, "request_audit"))["proven"]
        assert (await told(one, "list_unmet_requirements"))["requirements"] == []
        (tmp_path / "workspace" / "product.txt").write_text("broken\n")
        assert not (await told(one, "get_goal_status"))["proven"]


async def test_the_goal_and_the_receipt_are_resources(tmp_path: Path) -> None:
    async with client(tmp_path) as one:
        listed = (await one.list_resources()).resources
        assert {str(each.uri) for each in listed} == {"donewhen://goal", "donewhen://receipt"}
        assert (await one.read_resource("donewhen://goal")).contents[0].text == GOAL  # type: ignore[union-attr]
        await told(one, "request_audit")
        receipt = (await one.read_resource("donewhen://receipt")).contents[0].text  # type: ignore[union-attr]
        assert "Ship it" in receipt


async def test_a_goal_is_set_once_and_never_overwritten(tmp_path: Path) -> None:
    async with client(tmp_path, goal=None, allow_write=True) as one:
        assert "there is no goal here" in await refused(one, "get_goal_status")
        made = await told(one, "set_goal", objective="It is done", checks=["grep -q done product.txt"])
        assert made["total"] >= 1
        text = (tmp_path / "workspace" / "GOAL.md").read_text()
        assert "grep -q done product.txt" in text
        assert "only a person changes it" in await refused(one, "set_goal", objective="Easy", checks=["true"])
        assert (tmp_path / "workspace" / "GOAL.md").read_text() == text


async def test_a_run_can_be_started_and_stopped_by_those_who_may_write(tmp_path: Path) -> None:
    async with client(tmp_path, allow_write=True) as one:
        begun = await told(one, "start_run")
        assert begun["run"]
        assert (await told(one, "stop_run", run=begun["run"]))["status"] == "cancelled"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("get_evidence", {}, "get_evidence needs `evidence`, such as E1"),
        ("get_evidence", {"evidence": 3}, "get_evidence takes no such `evidence`: give one such as E1"),
        ("get_goal_status", {"goal": ["GOAL.md"]}, "get_goal_status takes no such `goal`: give one such as GOAL.md"),
        ("stop_run", {}, "stop_run needs `run`, such as get_goal_status names"),
        (
            "set_goal",
            {"checks": [1, 2]},
            'set_goal needs `objective`, such as "Prices include the tax"; '
            'it takes no such `checks`: give one such as ["pytest -q"]',
        ),
        ("get_goal_status", {"goal": "no.md"}, "there is no goal file no.md in the workspace"),
    ],
)
async def test_a_call_that_is_wrong_is_answered_in_plain_words(
    tmp_path: Path, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with client(tmp_path, allow_write=True) as one:
        assert await refused(one, tool, **arguments) == said


async def test_every_argument_has_an_example(tmp_path: Path) -> None:
    from donewhen.extras.mcp.server import EXAMPLES

    async with client(tmp_path, allow_write=True) as one:
        tools = (await one.list_tools()).tools
    assert {name for tool in tools for name in tool.input_schema.get("properties", {})} == set(EXAMPLES)


@pytest.mark.parametrize("named", ["../outside.md", "/etc/passwd", "missing.md"])
async def test_a_goal_outside_of_the_workspace_is_refused(tmp_path: Path, named: str) -> None:
    (tmp_path / "outside.md").write_text(GOAL)
    async with client(tmp_path) as one:
        assert "there is no goal file" in await refused(one, "request_audit", goal=named)


async def test_what_is_not_there_is_said_with_what_to_do(tmp_path: Path) -> None:
    async with client(tmp_path) as one:
        assert "request_audit" in await refused(one, "get_evidence", evidence="E1")
        await told(one, "request_audit")
        assert "E77" in await refused(one, "get_evidence", evidence="E77")


def test_the_command_speaks_the_protocol_on_its_standard_streams(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text(GOAL)
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    command = [sys.executable, "-m", "donewhen", "--state-dir", str(tmp_path / "state"), "mcp"]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    done = forked.run(command, cwd=tmp_path, input=json.dumps(hello) + "\n", env=environment, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["result"]["serverInfo"]["name"] for one in answers] == ["donewhen"], done.stderr


def test_a_person_who_types_the_command_is_told_who_starts_it(tmp_path: Path) -> None:
    call = desk(tmp_path, interactive=True)
    assert call("mcp") == 2
    assert "is started by an agent" in call.err

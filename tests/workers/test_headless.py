"""Agents by their own command lines: what each prints, read from programs of ours that print the same."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.agents import PRESETS, Agent, Form, Headless
from donewhen.core.errors import WorkerFailed
from donewhen.core.events import RunOptions
from donewhen.core.work import TurnResult, Usage
from donewhen.workers.headless import FORMS, HeadlessWorker
from donewhen.workspace.rooms.plain import PlainRooms
from tests.workers.agent_turns import AgentContext, Files, worker_parts
from tests.workers.turns import Lingering, turn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs here are POSIX scripts")

PRINTS: dict[Form, list[dict[str, Any]]] = {
    "claude": [
        {"type": "system", "subtype": "init", "session_id": "S"},
        {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "A minus?"}]}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}]}},
        {
            "type": "assistant",
            "message": {
                "content": [{"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "calc.py"}}]
            },
        },
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "edited"}]}},
        {
            "type": "result", "subtype": "success", "is_error": False, "result": "Done.", "total_cost_usd": 0.5,
            "usage": {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 7},
        },
    ],
    "codex": [
        {"type": "thread.started", "thread_id": "S"},
        {"type": "item.completed", "item": {"id": "i0", "type": "reasoning", "text": "A minus?"}},
        {"type": "item.started", "item": {"id": "i1", "type": "command_execution", "command": "ls"}},
        {
            "type": "item.completed",
            "item": {"id": "i1", "type": "command_execution", "command": "ls", "exit_code": 0},
        },
        {
            "type": "item.completed",
            "item": {
                "id": "i2", "type": "file_change", "status": "completed", "changes": [{"path": "calc.py", "kind": "u"}],
            },
        },
        {"type": "item.completed", "item": {"id": "i3", "type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 10, "output_tokens": 7}},
    ],
    "gemini": [
        {"type": "init", "session_id": "S"},
        {"type": "message", "role": "user", "content": "the prompt"},
        {"type": "tool_use", "tool_id": "t", "tool_name": "replace", "parameters": {"file_path": "calc.py"}},
        {"type": "tool_result", "tool_id": "t", "status": "success", "output": ""},
        {"type": "message", "role": "assistant", "content": "Do", "delta": True},
        {"type": "message", "role": "assistant", "content": "ne.", "delta": True},
        {"type": "result", "status": "success", "stats": {"input_tokens": 100, "cached": 10, "output_tokens": 7}},
    ],
    "opencode": [
        {
            "type": "tool_use", "sessionID": "S",
            "part": {
                "callID": "t", "tool": "edit", "state": {"status": "completed", "input": {"filePath": "calc.py"}},
            },
        },
        {
            "type": "step_finish", "sessionID": "S",
            "part": {"cost": 0.2, "tokens": {"input": 50, "output": 3, "cache": {"read": 10, "write": 0}}},
        },
        {"type": "text", "sessionID": "S", "part": {"text": "Done."}},
        {
            "type": "step_finish", "sessionID": "S",
            "part": {"cost": 0.3, "tokens": {"input": 40, "output": 4, "cache": {"read": 0, "write": 0}}},
        },
    ],
    "openhands": [
        {
            "kind": "ActionEvent", "tool_name": "file_editor", "tool_call_id": "t", "thought": [{"text": "A minus?"}],
            "action": {"path": "calc.py"},
        },
        {"kind": "ObservationEvent", "tool_name": "file_editor", "tool_call_id": "t", "observation": {"content": []}},
        {"kind": "MessageEvent", "source": "agent", "llm_message": {"content": [{"type": "text", "text": "Done."}]}},
    ],
}  # fmt: skip


def program(folder: Path, lines: Sequence[str], code: int = 0, errors: str = "", save: str = "") -> str:
    """A program that prints these lines, after it read what it is told and kept that as `save`."""
    script = folder / "program.py"
    script.write_text(
        "import sys\n"
        f"open({str(folder / 'told')!r}, 'a').write(' '.join(sys.argv[1:]) + '|' + sys.stdin.read() + chr(0))\n"
        f"sys.stderr.write({errors!r})\n"
        f"print({chr(10).join(lines)!r})\n"
        f"sys.exit({code})\n"
    )
    return f"{sys.executable} {script}"


async def plays(agent: Agent, folder: Path, context: AgentContext, command: str, iteration: int = 1) -> TurnResult:
    assert agent.headless is not None
    goes_on = f"{command} --goes-on {{session}}" if agent.headless.goes_on else ""
    driven = replace(agent, headless=Headless(command, agent.headless.form, goes_on))
    worker = HeadlessWorker(driven, worker_parts(RunOptions(agent.preset)))
    return await worker.work(turn(iteration), context)


@pytest.fixture
def context(tmp_path: Path) -> AgentContext:
    root = tmp_path / "work"
    root.mkdir()
    return AgentContext(Files(root))


@pytest.mark.parametrize("name", PRINTS)
async def test_what_it_prints_becomes_steps_a_claim_and_a_cost(
    name: Form, context: AgentContext, tmp_path: Path
) -> None:
    command = program(tmp_path, ["Loaded.", *map(json.dumps, PRINTS[name])])
    result = await plays(PRESETS[name], tmp_path, context, command)
    assert (result.claim.state, result.claim.text, result.summary) == ("finished", "Done.", "Done.")
    assert "edit_file" in [name for name, _ in context.started]
    calls = [call for message in context.said for call in message.calls if call.name == "edit_file"]
    assert json.loads(calls[0].arguments) == {"path": "calc.py"}
    expected = {"claude": 0.5, "opencode": 0.5}.get(name)
    if name != "openhands":  # it prints no figures
        assert result.usage == Usage(100, 7, 10, expected)


@pytest.mark.parametrize("name", PRINTS)
async def test_its_session_is_continued_and_begun_anew_where_that_fails(
    name: Form, context: AgentContext, tmp_path: Path
) -> None:
    command = program(tmp_path, [*map(json.dumps, PRINTS[name]), f"Hint: run openhands --resume {'0' * 36} to"])
    session = "0" * 36 if name == "openhands" else "S"
    await plays(PRESETS[name], tmp_path, context, command)
    await plays(PRESETS[name], tmp_path, context, command, 2)
    told = (tmp_path / "told").read_text().split("\0")
    assert [one.partition("|")[0] for one in told[:2]] == ["", f"--goes-on {session}"]
    refusing = program(tmp_path, ["No conversation found with session ID S"], code=1)
    with pytest.raises(WorkerFailed, match="No conversation found"):
        await plays(PRESETS[name], tmp_path, context, refusing, 3)
    told = (tmp_path / "told").read_text().split("\0")
    assert [one.partition("|")[0] for one in told[2:4]] == [f"--goes-on {session}", ""]


async def test_aider_is_read_as_text_with_what_it_took(context: AgentContext, tmp_path: Path) -> None:
    banner = ["Aider v0.86.2", "Git repo: .git with 3 files"]
    lines = [*banner, "Applied edit to calc.py", "Tokens: 1.2k sent, 80 received. Cost: $0.01 message, $0.02 session."]
    result = await plays(PRESETS["aider"], tmp_path, context, program(tmp_path, lines))
    assert result.usage == Usage(1_200, 80, 0, 0.02)
    assert result.claim.text.startswith("Applied edit"), "what it prints of itself is not what it says"


async def test_what_its_tools_do_is_told_with_files_as_they_lie_in_the_workspace(
    context: AgentContext, tmp_path: Path
) -> None:
    used = {"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": str(context.workspace.root / "a.py")}}
    lines = [{"type": "assistant", "message": {"content": [used]}}, PRINTS["claude"][-1]]
    result = await plays(PRESETS["claude"], tmp_path, context, program(tmp_path, [*map(json.dumps, lines)]))
    assert [step.summary for step in result.steps] == ["Edit a.py: failed"]


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("claude", {"type": "result", "subtype": "success", "is_error": True, "result": "Invalid API key"}, "Invalid"),
        ("codex", {"type": "turn.failed", "error": {"message": "no credit"}}, "no credit"),
        ("gemini", {"type": "result", "status": "error", "error": {"message": "quota"}}, "quota"),
        ("opencode", {"type": "error", "error": {"name": "E", "data": {"message": "no such model"}}}, "no such model"),
    ],
)
async def test_what_it_says_went_wrong_is_a_failed_turn(
    name: str, line: dict[str, Any], says: str, context: AgentContext, tmp_path: Path
) -> None:
    with pytest.raises(WorkerFailed, match=says):
        await plays(PRESETS[name], tmp_path, context, program(tmp_path, [json.dumps(line)], code=1))


async def test_a_program_that_dies_says_what_it_wrote(context: AgentContext, tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match=r"(?s)Claude Code exited with 3:.*node: bad option"):
        await plays(PRESETS["claude"], tmp_path, context, program(tmp_path, [], 3, "node: bad option"))


async def test_a_program_that_is_missing_is_named_with_how_to_get_it(context: AgentContext, tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match="npm install -g @openai/codex"):
        await plays(PRESETS["codex"], tmp_path, context, "no-such-folder/codex exec -")


async def test_it_is_gone_with_its_turn_however_often_that_is_cancelled(context: AgentContext) -> None:
    lingering = Lingering()
    parts = worker_parts(RunOptions("claude"), rooms=PlainRooms(lingering))
    assert not await lingering.outlives(HeadlessWorker(PRESETS["claude"], parts).work(turn(), context))


async def test_a_report_longer_than_a_pipe_is_read_whole(context: AgentContext, tmp_path: Path) -> None:
    long = {"type": "assistant", "message": {"content": [{"type": "text", "text": "y" * 300_000}]}}
    command = program(tmp_path, [json.dumps(long), json.dumps(PRINTS["claude"][-1])])
    assert (await plays(PRESETS["claude"], tmp_path, context, command)).claim.text == "Done."


async def test_its_last_line_is_its_claim(context: AgentContext, tmp_path: Path) -> None:
    said = 'No key.\n{"donewhen": {"state": "blocked", "text": "no key"}}'
    line = {"type": "result", "subtype": "success", "is_error": False, "result": said}
    result = await plays(PRESETS["claude"], tmp_path, context, program(tmp_path, [json.dumps(line)]))
    assert (result.claim.state, result.claim.text) == ("blocked", "no key")


def test_every_preset_has_a_reader_and_says_how_to_get_it() -> None:
    for agent in PRESETS.values():
        assert agent.headless is not None
        assert agent.headless.form in FORMS
        assert agent.install
        assert bool(agent.acp) == bool(agent.acp_install)

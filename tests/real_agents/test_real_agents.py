"""The real programs, from npm and PyPI, against scripted models on loopback: by their command lines, and by ACP."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.cli.samples import prepare
from donewhen.core.agents import PRESETS
from tests.real_agents.rig import BY_PRESET, Ran, Rig, a_lie_first
from tests.scripted_models import ModelCall, Reply, calls, says
from tests.scripted_models.elsewhere import ScriptedMessages
from tests.tools import needs_npm, needs_tool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

HEADLESS = [
    pytest.param("claude", marks=needs_npm("claude")),
    pytest.param("codex", marks=needs_npm("codex")),
    pytest.param("gemini", marks=needs_npm("gemini")),
    pytest.param("opencode", marks=needs_npm("opencode")),
    pytest.param("aider", marks=needs_tool("aider")),
]
ACP = [
    pytest.param("claude", marks=needs_npm("claude-agent-acp")),
    pytest.param("codex", marks=needs_npm("codex-acp")),
    pytest.param("gemini", marks=needs_npm("gemini")),
    pytest.param("opencode", marks=needs_npm("opencode")),
]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def is_refused_and_repairs(ran: Ran) -> bool:
    """Its first turn was a lie, and its second one repaired the sum, which is proven."""
    assert (ran.code, ran.last["status"]) == (0, "complete"), ran.errors
    lie, repair = ran.last["iterations"]
    return (lie["met"], lie["changedFiles"], repair["met"], repair["changedFiles"]) == (0, [], 1, ["calc.py"])


@pytest.mark.parametrize("preset", HEADLESS)
def test_its_lie_is_refused_and_its_session_goes_on_until_a_red_test_is_repaired(preset: str, rig: Rig) -> None:
    real = BY_PRESET[preset]
    with real.serve(a_lie_first(real, rig)) as server:
        real.tell(rig, server)
        ran = rig.run("--worker", preset)
    assert is_refused_and_repairs(ran)
    assert ran.last["cost"]["worker"]["outputTokens"] > 0
    headless = PRESETS[preset].headless
    assert headless is not None
    if headless.goes_on:
        told = server.requests[-1].raw.decode(errors="replace")
        assert "the goal is complete" in told, "the second turn does not know what was said in the first"


@needs_npm("claude")
def test_claude_completes_the_sample_of_the_demo_after_a_lie(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.root = prepare(tmp_path / "sample", pytest=True).workspace
    writer = str(rig.root / "csv_export" / "writer.py")
    quotes = ("return '\"' + text + '\"'", "return '\"' + text.replace('\"', '\"\"') + '\"'")
    breaks = ('if "," in text or \'"\' in text:', "if any(character in text for character in ',\"\\r\\n'):")
    steps = [
        says("All tests pass and it is ready to ship."),
        calls("Read", file_path=writer),
        *(calls("Edit", file_path=writer, old_string=old, new_string=new) for old, new in (quotes, breaks)),
        says("Quotes are doubled, and fields with line breaks are quoted."),
    ]
    with ScriptedMessages(steps) as server:
        BY_PRESET["claude"].tell(rig, server)
        ran = rig.run("--worker", "claude", iterations=3)
    server.verify()
    assert (ran.code, ran.last["status"], ran.last["iteration"]) == (0, "complete", 2), ran.errors


@pytest.mark.parametrize("preset", ACP)
def test_over_acp_its_lie_is_refused_and_a_red_test_repaired(preset: str, rig: Rig) -> None:
    real = BY_PRESET[preset]
    with real.serve(a_lie_first(real, rig)) as server:
        real.tell(rig, server)
        ran = rig.run("--worker", "acp", "--agent-command", preset, "--approve", "auto")
    assert is_refused_and_repairs(ran)


@pytest.mark.parametrize("preset", ACP[:2])
def test_over_acp_its_permission_is_asked_of_the_person(preset: str, rig: Rig) -> None:
    real = BY_PRESET[preset]
    assert real.command is not None
    wanted = "touch allowed.txt"
    command = real.command(wanted)

    def until_it_ran(_: ModelCall) -> Reply:
        return says("I repaired the sum.") if (rig.root / "allowed.txt").exists() else command

    with real.serve(until_it_ran) as server:
        real.tell(rig, server)
        first = rig.run("--worker", "acp", "--agent-command", preset, "--approve", "ask", iterations=1)
        (start,) = first.last["interrupts"]
        rig.donewhen("answer", first.last["runId"], start["id"], "approve", "--json")
        second = rig.donewhen("resume", first.last["runId"], "--json")
        (asked,) = second.last["interrupts"]
        assert (second.code, asked["kind"], asked["tool"]) == (3, "approval", "run_command"), second.errors
        assert wanted in asked["title"]
        assert not (rig.root / "allowed.txt").exists()
        rig.donewhen("answer", first.last["runId"], asked["id"], "approve", "--json")
        rig.donewhen("resume", first.last["runId"], "--json")
    assert (rig.root / "allowed.txt").exists()

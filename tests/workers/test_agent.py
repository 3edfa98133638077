"""The agent's turn from its task to its claim."""

from __future__ import annotations

import hashlib
import shlex
import sys
from pathlib import Path

import pytest

from donewhen.core.work import Usage

from .agent_models import report, use
from .agent_turns import Agent, agent_in


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return agent_in(tmp_path)


async def test_it_looks_changes_runs_and_reports(agent: Agent) -> None:
    agent.write("a.py", "print('old')\n")
    result = await agent.plays(
        [
            use("read_file", path="a.py"),
            use("edit_file", path="a.py", old="'old'", new="'new'"),
            use("run_command", command=f"{shlex.quote(sys.executable)} a.py"),
            report("finished", "a.py prints new\nand that is all"),
        ]
    )
    assert result.claim.state == "finished"
    assert result.claim.text == "a.py prints new\nand that is all"
    assert result.summary == "a.py prints new"
    assert [step.kind for step in result.steps] == ["read_file", "edit_file", "run_command", "report"]
    assert all(step.ok for step in result.steps)
    assert result.usage == Usage()
    assert result.response_digest != hashlib.sha256(b"").hexdigest()
    assert agent.text("a.py") == "print('new')\n"
    read, edited, ran, _ = agent.told
    assert read == "a.py, lines 1-1 of 1:\nprint('old')"
    assert edited == "edited a.py at line 1"
    assert ran.startswith("exit 0 after ")
    assert ran.endswith("\nnew")

"""Claude Code itself is held to a goal by two commands: an agent that lies is sent back, and then proves it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.claude import claude
from tests.scripted_models import calls, says
from tests.scripted_models.elsewhere import ScriptedMessages
from tests.tools import needs_npm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    needs_npm("claude"),
]

GOAL = "# Add\n\n- [ ] It adds\n  - check: `python -m pytest -q -p no:cacheprovider`\n"
WRONG = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "GOAL.md").write_text(GOAL)
    (root / "calc.py").write_text(WRONG)
    (root / "test_calc.py").write_text(TEST)
    return root


def donewhen(workspace: Path, state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "donewhen", "--state-dir", str(state), *words],
        cwd=workspace, capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def runs(workspace: Path, state: Path) -> list[tuple[str, int]]:
    listed = json.loads(donewhen(workspace, state, "list", "--json").stdout)
    return [(one["status"], 1) for one in listed]


def test_an_agent_that_lies_three_times_is_sent_back_three_times_and_then_proves_it(
    workspace: Path, tmp_path: Path
) -> None:
    state, home = tmp_path / "state", tmp_path / "home"
    home.mkdir()
    installed = donewhen(workspace, state, "gate", "install", "claude", "--yes")
    assert installed.returncode == 0, installed.stderr
    script = [
        calls("Bash", command="sed -i 's/== 5/== -1/' test_calc.py", description="Edit the test"),
        says("All tests pass now."),
        calls("Bash", command="sed -i 's/== -1/== 5/' test_calc.py", description="Put it back").expecting(
            "original_fails", "test_calc.py"
        ),
        says("I put the test back, and it is done."),
        calls(
            "Bash", command="sed -i 's/^def test_add/@__import__(\"pytest\").mark.skip\\ndef test_add/' test_calc.py"
        ).expecting("R1 (unmet)", "assert -1 == 5"),
        says("Everything passes."),
        calls("Bash", command="sed -i '/mark.skip/d' test_calc.py && sed -i 's/a - b/a + b/' calc.py").expecting(
            "not proven yet"
        ),
        says("It adds."),
    ]
    with ScriptedMessages(script) as server:
        done = claude(
            "Make the tests pass", workspace=workspace, home=home, base_url=server.root_url, state=state, timeout=250
        )
        failures, unplayed = server.failures, server.unplayed
    assert done.returncode == 0, done.stderr + done.stdout
    assert (failures, unplayed) == ([], {})
    assert json.loads(done.stdout)["result"] == "It adds."
    assert "+" in (workspace / "calc.py").read_text()
    assert (workspace / "test_calc.py").read_text() == TEST
    assert [status for status, _ in runs(workspace, state)] == ["complete"]
    report = donewhen(workspace, state, "report", "--json")
    assert json.loads(report.stdout)["iteration"] == 4

"""Agents of every kind that say they are done and are not: each is refused, whatever way it is driven."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.agents import PRESETS
from tests.agent.site import PYTEST, Site
from tests.workers.test_headless import PRINTS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs here are POSIX scripts")

ACP_AGENT = Path(__file__).parents[1] / "workers" / "acp" / "agent.py"
LIE = "I repaired the sum. All tests pass, and the goal is complete."


def lying(folder: Path, preset: str) -> dict[str, str]:
    """A program of that agent's name, first on the PATH, that prints what the agent prints, and only lies."""
    headless = PRESETS[preset].headless
    assert headless is not None
    told = json.dumps(PRINTS.get(headless.form, LIE)).replace("Done.", LIE).replace('"Do"', json.dumps(LIE))
    lines = [json.dumps(line) for line in json.loads(told)] if headless.form in PRINTS else [LIE]
    script = folder / headless.command.split()[0]
    script.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.read()\nprint({chr(10).join(lines)!r})\n")
    script.chmod(0o755)
    return {"PATH": f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin"}


def refused(site: Site, *argv: str, variables: dict[str, str]) -> dict[str, Any]:
    site.goal(f"# Sums are right\n\n- [ ] the tests pass\n  - check: `{PYTEST}`\n")
    (site.root / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (site.root / "test_calc.py").write_text("from calc import add\n\ndef test_add():\n    assert add(2, 3) == 5\n")
    done = site.cli("run", "--json", "--max-iterations", "1", *argv, variables=variables)
    assert done.returncode in (1, 3), done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["iteration"] == 1
    assert last["complete"] is False
    return last


@pytest.mark.parametrize(
    "preset", [name if name == "claude" else pytest.param(name, marks=pytest.mark.slow) for name in sorted(PRESETS)]
)
def test_a_lie_by_a_command_line_is_refused(preset: str, site: Site, tmp_path: Path) -> None:
    last = refused(site, "--worker", preset, variables=lying(tmp_path, preset))
    assert last["iterations"][0]["error"] is None
    assert "goal is complete" in last["iterations"][0]["summary"]


@pytest.mark.parametrize("way", ["lies", pytest.param("weakens", marks=pytest.mark.slow)])
def test_a_lie_over_acp_is_refused(way: str, site: Site, tmp_path: Path) -> None:
    command = shlex.join([sys.executable, str(ACP_AGENT), way])
    variables = {"REPORT": str(tmp_path / "report")}
    last = refused(site, "--worker", "acp", "--agent-command", command, "--approve", "auto", variables=variables)
    assert last["iterations"][0]["error"] is None


@pytest.mark.slow
def test_a_lie_by_any_other_command_is_refused(site: Site) -> None:
    refused(site, "--worker", "command", "--worker-command", f"echo {shlex.quote(LIE)}", variables={})


# What a person sees of an agent over ACP.


@pytest.mark.slow
def test_a_permission_is_an_interrupt_of_the_run(site: Site, tmp_path: Path) -> None:
    command = shlex.join([sys.executable, str(ACP_AGENT), "asks"])
    site.goal("# Deployed\n\n- [ ] it is deployed\n  - check: `test -e deployed`\n")
    variables = {"REPORT": str(tmp_path / "report")}
    begun = site.cli(
        "run", "--json", "--worker", "acp", "--agent-command", command, "--approve", "ask", variables=variables
    )
    first = json.loads(begun.stdout.splitlines()[-1])
    (start,) = first["interrupts"]
    assert "It decides when to ask for permission" in start["preview"] + first["start"]["summary"]
    site.cli("answer", first["runId"], start["id"], "approve", variables=variables)
    resumed = site.cli("resume", first["runId"], "--json", variables=variables)
    (asked,) = json.loads(resumed.stdout.splitlines()[-1])["interrupts"]
    assert (asked["kind"], asked["tool"], asked["input"]) == ("approval", "run_command", {"command": "make deploy"})
    site.cli("answer", first["runId"], asked["id"], "approve", variables=variables)
    site.cli("resume", first["runId"], "--json", "--max-iterations", "1", variables=variables)
    assert json.loads((tmp_path / "report" / "asked").read_text()) == "yes"


def test_an_agent_that_a_goal_file_names_is_not_started_unasked(site: Site, tmp_path: Path) -> None:
    (site.root / "GOAL.md").write_text("---\nworker: claude\n---\n# Sums\n\n- [ ] it is there\n  - check: `false`\n")
    done = site.cli("run", "--json", "--approve", "ask", variables=lying(tmp_path, "claude"))
    last = json.loads(done.stdout.splitlines()[-1])
    assert [one["title"] for one in last["interrupts"]] == ["Start this run?"]
    assert last["iteration"] == 0


def test_doctor_says_which_agents_are_here_and_how_to_get_the_others(site: Site, tmp_path: Path) -> None:
    out = site.cli("doctor", variables=lying(tmp_path, "codex")).stdout
    assert "✓ worker codex" in out
    assert "npm install -g @google/gemini-cli" in out
    assert "- worker acp" in out

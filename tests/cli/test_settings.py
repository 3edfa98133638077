"""`donewhen settings`: what is in force, from where, and what a workspace may do with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from donewhen.settings.table import SETTINGS
from tests.cli.fakes import Desk, desk

GOAL = "---\nmax_iterations: 7\nprotect: ['a/**']\n---\n# G\n\n- [ ] `true` passes\n"
PROJECT = """[tool.donewhen]
model = "openai/theirs"
timeout = "5h"
sandbox = "off"
network = "off"
protect = ["b/**"]
"""
USER = """model = "openai/mine"
judge_model = "openai/judge"
worker_command = "agent --api-key abcdef {prompt}"
api_base = "http://me:hunter22@localhost:8000/v1"
room_disk = "5GB"
[ceiling]
timeout = "2h"
budget = 5
[prices."openai/mine"]
input = 1.0
output = 2.0
"""


@pytest.fixture
def configured(tmp_path: Path) -> Desk:
    call = desk(tmp_path, environ={"DONEWHEN_JUDGE_MODEL": "openai/other"})
    (tmp_path / "GOAL.md").write_text(GOAL)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "user.toml").write_text(USER)
    return call


def all_of(call: Desk, *argv: str) -> dict[str, dict[str, Any]]:
    assert call("settings", "--json", *argv) == 0
    return {one["name"]: one for one in json.loads(call.out)["settings"]}


def test_each_setting_says_its_value_and_its_source(configured: Desk, tmp_path: Path) -> None:
    found = all_of(configured, "--state-dir", str(tmp_path / "s"))
    assert list(found) == [*(one.name for one in SETTINGS), "prices"]
    user = str(tmp_path / "user.toml")
    table = "[tool.donewhen] of pyproject.toml"
    for name, value, source, place in (
        ("state_dir", str(tmp_path / "s"), "command line", "--state-dir"),
        ("judge_model", "openai/other", "environment", "DONEWHEN_JUDGE_MODEL"),
        ("max_iterations", 7, "goal file", "GOAL.md"),
        ("model", "openai/theirs", "workspace", table),
        ("room_disk", "5GB", "your settings", user),
        ("timeout", "2h", "ceiling", f"[ceiling] of {user}"),
        ("budget", 5.0, "ceiling", f"[ceiling] of {user}"),
        ("sandbox", "auto", "default", None),
        ("check_timeout", "10m", "default", None),
        ("script", None, "default", None),
        ("protect", ["b/**", "a/**"], "goal file, workspace", f"GOAL.md, {table}"),
        ("prices", ["openai/mine"], "your settings", user),
    ):
        assert (found[name]["value"], found[name]["source"], found[name]["place"]) == (value, source, place), name
    assert [one["source"] for one in found["model"]["said"]] == ["workspace", "your settings"]
    assert [found[name]["workspace"] for name in ("model", "sandbox", "api_base", "proof", "prices")] == [
        "may", "tighten", "never", None, "never",
    ]  # fmt: skip


def test_keys_are_not_shown(configured: Desk) -> None:
    configured.environ["SOME_API_KEY"] = "plainwords"
    configured.environ["DONEWHEN_AGENT_COMMAND"] = "agent plainwords"
    for argv in ([], ["--json"]):
        assert configured("settings", *argv) == 0
        assert not [word for word in ("hunter22", "abcdef", "plainwords") if word in configured.out]
        assert "[masked]" in configured.out


def test_a_table_for_people(configured: Desk, tmp_path: Path) -> None:
    assert configured("settings") == 0
    rows = {line.split()[0]: " ".join(line.split()) for line in configured.out.splitlines() if line.startswith("  ")}
    assert rows["max_iterations"] == "max_iterations 7 GOAL.md the workspace may set it"
    assert rows["network"].endswith("the workspace may only tighten it")
    assert rows["room_disk"] == f"room_disk 5GB {tmp_path / 'user.toml'} the workspace may not set it"
    assert rows["prices"] == f"prices openai/mine {tmp_path / 'user.toml'} the workspace may not set it"
    assert "hidden_checks" not in rows
    assert configured("settings", "hidden_checks") == 0
    assert configured.out.startswith("hidden_checks: not set  (default)\n")
    with (tmp_path / "user.toml").open("a") as user:
        user.write(f"[[hidden_checks]]\nworkspace = '{tmp_path}'\nname = 'Doubled'\ncommand = 'pytest held.py'\n")
    for argv in ([], ["hidden_checks"], ["hidden-checks", "--json"], ["--json"]):
        assert configured("settings", *argv) == 0
        assert "hidden_checks" in configured.out
        assert "Doubled" in configured.out
        assert "held.py" not in configured.out
    assert "`sandbox` of [tool.donewhen] of pyproject.toml is ignored" in configured.err


def test_one_setting_with_all_that_is_said_of_it(configured: Desk, tmp_path: Path) -> None:
    assert configured("settings", "--max-iterations") == 2  # an option that this command doesn't have
    assert configured("settings", "timeout") == 0
    for part in ("timeout: 2h", "pyproject.toml says 5h", "your ceiling: 2h", "The workspace may set it"):
        assert part in configured.out
    assert configured("settings", "prices") == 0
    assert f"prices: openai/mine  ({tmp_path / 'user.toml'})\n  What a model costs" in configured.out
    assert configured("settings", "tiemout") == 2
    assert "did you mean `timeout`?" in configured.err


@pytest.mark.parametrize("goal", [None, "---\nmax_iterations: many\n---\n# G\n"])
def test_without_a_goal_that_can_be_read_the_rest_is_said(goal: str | None, configured: Desk, tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").unlink()
    if goal is not None:
        (tmp_path / "GOAL.md").write_text(goal)
    assert all_of(configured, "max_iterations")["max_iterations"]["source"] == "default"

"""Checks run in the project's environment: the interpreter that is selected in the editor now comes first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from donewhen.app.engine import open_engine
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.evidence.environment import CheckEnvironment
from donewhen.settings.loading import Settings


def _interpreter(place: Path, exit_code: int) -> Path:
    program = place / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nexit {exit_code}\n", encoding="utf-8")
    program.chmod(0o755)
    return program


@pytest.mark.skipif(sys.platform == "win32", reason="the interpreters are shell scripts")
async def test_another_interpreter_counts_from_the_next_start_on(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "GOAL.md").write_text("# G\n\n- [ ] `python tool.py` passes\n", encoding="utf-8")
    selected = _interpreter(tmp_path / "good" / "bin", 0)
    other = _interpreter(tmp_path / "bad" / "bin", 3)
    context = WorkspaceContext(interpreter=lambda: selected)
    runs = await open_engine(root, tmp_path / "state", Settings(), context)
    try:
        assert [one.status for one in (await runs.check("GOAL.md")).views] == ["met"]
        selected = other
        assert [one.status for one in (await runs.check("GOAL.md")).views] == ["unmet"]
    finally:
        await runs.close("the test ended")


@pytest.mark.parametrize(("name", "wanted"), [("w/tools/python-env", True), ("managed", False)])
def test_the_servers_own_environment_counts_where_it_is_the_projects(tmp_path: Path, name: str, wanted: bool) -> None:
    """As where `donewhen.interpreter` names an environment in the project that is not called `.venv`."""
    root, home = tmp_path / "w", tmp_path / name
    root.mkdir()
    home.mkdir(parents=True)
    (home / "pyvenv.cfg").write_text("", encoding="utf-8")
    environment = CheckEnvironment(root, tmp_path, lambda: {"PATH": "/bin"}, home=str(home))
    variables = environment.variables()
    assert (variables.get("VIRTUAL_ENV") == str(home), variables["PATH"] != "/bin") == (wanted, wanted)
    environment.interpreter = tmp_path / "selected" / "bin" / "python"
    assert environment.variables()["PATH"].startswith(str(environment.interpreter.parent))

"""Each workspace folder has the interpreter that is selected for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .editor import SERVE, Editor


def _selected(place: Path, exit_code: int) -> str:
    program = place / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nexit {exit_code}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.skipif(sys.platform == "win32", reason="the interpreters are shell scripts")
def test_checks_of_each_folder_run_with_its_own_interpreter(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
        (folder / "GOAL.md").write_text("# G\n\n- [ ] `python tool.py` passes\n", encoding="utf-8")
    good, bad = _selected(tmp_path / "good", 0), _selected(tmp_path / "bad", 3)
    by_folder = {folders[0].as_uri(): good, folders[1].as_uri(): bad}
    editor = Editor(tmp_path / "state")
    editor.start(
        options={"settings": {"interpreter": good, "interpreters": by_folder}},
        workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
    )
    found = [
        editor.execute("donewhen.goal.check", {"goalUri": editor.open(folder / "GOAL.md")})["requirements"][0]["status"]
        for folder in folders
    ]
    assert found == ["met", "unmet", "met"]
    assert editor.goodbye() == 0
    editor.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
def test_checks_are_suggested_where_what_they_need_is_installed(tmp_path: Path) -> None:
    bare, equipped = tmp_path / "bare", tmp_path / "equipped"
    for folder in (bare, equipped):
        folder.mkdir()
        (folder / "test_it.py").write_text("def test_it():\n    assert True\n", encoding="utf-8")
        (folder / "pyproject.toml").write_text("[tool.ruff]\n", encoding="utf-8")
    python = _selected(equipped / ".venv", 0)
    (equipped / ".venv" / "pyvenv.cfg").touch()
    (equipped / ".venv" / "bin" / "ruff").symlink_to(python)
    editor = Editor(tmp_path / "state", command=["/usr/bin/env", f"PATH={tmp_path / 'empty'}", *SERVE])
    editor.start(workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name} for folder in (bare, equipped)])
    found = {
        folder: {
            check["command"]: check
            for check in editor.execute("donewhen.goal.detect", {"workspaceUri": folder.as_uri()})["checks"]
        }
        for folder in (bare, equipped)
    }
    assert not found[bare]["python -m pytest -q"]["suggested"]
    assert "; `python` is not installed here" in found[bare]["python -m pytest -q"]["why"]
    assert not found[bare]["ruff check ."]["suggested"]
    assert found[equipped]["ruff check ."]["suggested"]
    assert found[equipped]["ruff check ."]["why"] == "[tool.ruff] in pyproject.toml"
    assert editor.goodbye() == 0
    editor.close()

"""Checks run in the Python that is selected for the project in VS Code, never in the server's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.vscode.conftest import Opener, installed
from tests.vscode.packages import python_extension
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
---
max_iteration: 3
---
# Say where

- [ ] `python where.py` passes
"""
WHERE = "import pathlib, sys\npathlib.Path('where.txt').write_text(sys.prefix)\n"


def test_a_check_runs_in_the_interpreter_that_is_selected(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "chosen", GOAL)
    (folder / "where.py").write_text(WHERE, encoding="utf-8")
    environments = [tmp_path / "one", tmp_path / "two"]
    for each in environments:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(each)], check=True, timeout=60)
    selected, where = folder / "selected.txt", folder / "where.txt"
    selected.write_text(str(environments[0] / "bin" / "python"), encoding="utf-8")
    with installed(vsix, tmp_path_factory.mktemp("vscode"), {}) as server:
        server.install(python_extension(tmp_path / "python.vsix"))
        window = open_window(server, folder)
        window.notices.wait_bar(BAR, "Goal")

        # What is wrong in a goal file opens at its line.
        window.palette.run("Done When: Check Now")
        said = window.notices.wait("GOAL.md, line 2: ")
        assert "max_iteration" in said
        assert "Show Logs" not in said
        window.notices.press("GOAL.md, line 2: ", "Open Goal File")
        window.editor.shown("GOAL.md")
        window.until(lambda: "Ln 2, Col 1" in window.notices.bar("status.editor.selection"), "at the line")
        window.editor.replace_line(2, "max_iterations: 3")
        window.editor.save()

        for each in environments:
            selected.write_text(str(each / "bin" / "python"), encoding="utf-8")

            def ran_there(prefix: str = str(each)) -> bool:
                window.palette.run("Done When: Check Now")
                window.notices.wait_bar(BAR, "1 of 1 met")
                return where.exists() and where.read_text() == prefix

            window.until(ran_there, f"a check in {each.name}")

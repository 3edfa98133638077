"""Two folders in one window, each with a goal of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def goal(title: str, count: int) -> str:
    wanted = "".join(f"- [ ] `test -f {number}.txt` passes\n" for number in range(count))
    return f"---\nworker: human\n---\n# {title}\n\n{wanted}"


def test_two_goals_are_pursued_at_once(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    folders = [project(tmp_path / "north", goal("Go north", 1)), project(tmp_path / "south", goal("Go south", 2))]
    workspace = tmp_path / "both.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": str(folder)} for folder in folders]}), encoding="utf-8")
    window = open_window(server, workspace)
    window.notices.wait_bar(BAR, "Goal")
    for name in ("north", "south"):
        window.palette.run("Done When: Start")
        window.palette.pick(name)
    window.palette.run("View: Show Done When")
    for title in ("Go north", "Go south"):
        window.views.wait_tree("Goals", title)
    (folders[1] / "0.txt").write_text("here\n", encoding="utf-8")
    window.views.wait_tree("Goals", "1 of 2 met")
    (folders[0] / "0.txt").write_text("here\n", encoding="utf-8")
    window.views.wait_tree("Goals", "1 of 1 met")

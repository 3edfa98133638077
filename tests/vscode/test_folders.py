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


def both(tmp_path: Path, south: str) -> tuple[Path, list[Path]]:
    """A workspace with a goal in each of its two folders, and the folders."""
    folders = [project(tmp_path / "north", goal("Go north", 1)), project(tmp_path / "south", south)]
    workspace = tmp_path / "both.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": str(folder)} for folder in folders]}), encoding="utf-8")
    return workspace, folders


def test_two_goals_are_pursued_at_once(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    workspace, folders = both(tmp_path, goal("Go south", 2))
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

    # The status bar is about the folder of the file that is looked at, and so are commands.
    window.editor.open("north/calc.py")
    window.notices.wait_bar(BAR, "0 of 1 met")
    window.editor.open("south/calc.py")
    window.notices.wait_bar(BAR, "1 of 2 met")
    window.palette.run("Done When: Stop")
    window.until(lambda: "Go south: cancelled" in window.notices.bar_label(BAR), "the run that was stopped")
    window.editor.open("north/calc.py")
    window.until(lambda: "Go north: running" in window.notices.bar_label(BAR), "north going on")
    (folders[0] / "0.txt").write_text("here\n", encoding="utf-8")
    window.notices.wait_bar(BAR, "1 of 1 met")
    assert "Proven: 1 of 1 in" in window.notices.wait("“Go north” is complete")
    assert not any("Go south" in one for one in window.notices.toasts())


def test_what_another_folder_asks_is_noticed(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    workspace, folders = both(tmp_path, f"{goal('Go south', 1)}- [ ] It is warm\n")
    window = open_window(server, workspace)
    window.notices.wait_bar(BAR, "Goal")
    for name in ("north", "south"):
        window.palette.run("Done When: Start")
        window.palette.pick(name)
    window.editor.open("north/calc.py")
    window.notices.wait_bar(BAR, "0 of 1 met")
    (folders[1] / "0.txt").write_text("here\n", encoding="utf-8")
    window.notices.wait("“Go south”: ")
    window.until(
        lambda: "“Go south” is waiting for you" in window.notices.bar_label(BAR), "in the status bar: who asks"
    )
    assert "Go north: running" in window.notices.bar_label(BAR)
    window.notices.press_bar(BAR)
    window.palette.pick("Answer Question")
    window.palette.pick("Waive")
    window.notices.gone("“Go south”: ")
    window.until(lambda: "is waiting for you" not in window.notices.bar_label(BAR), "nothing asked any more")
    assert "1 of 2 met, 1 waived" in window.notices.wait("“Go south” is complete")
    assert "0 of 1 met" in window.notices.bar(BAR)

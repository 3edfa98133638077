"""Goal files that can't be used: what is wrong is said, and the way to it is one click."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import BAR, HUMAN, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
BROKEN = HUMAN.replace("worker: human", "worker: human\nmax_iteration: 3")


def test_what_is_wrong_in_a_goal_file_opens_at_its_line(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    window = open_window(server, project(tmp_path / "adder", BROKEN))
    for title in ("Start", "Check Now"):
        window.palette.run(f"Done When: {title}")
        said = window.notices.wait("GOAL.md, line 3: ")
        assert "max_iteration" in said
        assert "Show Logs" not in said
        window.notices.press("GOAL.md, line 3: ", "Open Goal File")
        window.editor.shown("GOAL.md")
        window.until(lambda: "Ln 3, Col 1" in window.notices.bar("status.editor.selection"), "at the line")
        window.palette.run("View: Close Editor")

    window.editor.open("GOAL.md")
    window.editor.replace_line(3, "max_iterations: 3")
    window.editor.save()
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 2 met")


def test_a_goal_file_is_followed_to_its_new_name_and_told_of_when_it_is_gone(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", HUMAN)
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 2 met")
    renamed = (folder / "GOAL.md").rename(folder / "adder.goal.md")
    window.editor.open("adder.goal.md")
    window.editor.wait_marked("python -m pytest", "test -f NOTES.md")

    aside = renamed.rename(tmp_path / "aside")
    gone = "the goal file adder.goal.md is gone"
    assert "put it back" in window.notices.wait(gone)
    aside.rename(renamed)
    window.notices.press(gone, "Resume")
    (folder / "NOTES.md").write_text("added\n", encoding="utf-8")
    window.notices.wait_bar(BAR, "1 of 2 met")

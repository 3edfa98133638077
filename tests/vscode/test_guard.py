"""A goal that was complete: an edit makes it stale, and on guard one that breaks it is an error at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import ASSERTION, BAR, RIGHT, RIGHT_LINE, WRONG, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = "---\nworker: human\n---\n# Make add right\n\n- [ ] `python -m pytest -q` passes\n"
WRONG_LINE = "return a - b"


def test_a_complete_goal_turns_stale_with_an_edit_and_on_guard_one_that_breaks_it_is_an_error(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    window = open_window(server, folder)
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    window.editor.open("GOAL.md")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "1 of 1 met")
    window.until(lambda: any("Guard" in one for one in window.editor.lenses()), "complete, and to be guarded")
    it_turns_stale_with_an_edit_and_is_met_again_without_it(window, folder)
    what_breaks_it_on_guard_is_an_error_until_it_is_mended(window, server)


def it_turns_stale_with_an_edit_and_is_met_again_without_it(window: Workbench, folder: Path) -> None:
    (folder / "calc.py").write_text(WRONG, encoding="utf-8")
    window.notices.wait_bar(BAR, "0 of 1 met.*1 stale")
    window.editor.open("GOAL.md")
    window.until(lambda: any("Stale" in lens for lens in window.editor.lenses()), "a lens that says stale")
    assert not any(lens.startswith("Met") for lens in window.editor.lenses())

    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    window.notices.wait_bar(BAR, "1 of 1 met")


def what_breaks_it_on_guard_is_an_error_until_it_is_mended(window: Workbench, server: CodeServer) -> None:
    window.palette.run("Done When: Guard")
    window.until(lambda: any("Lift guard" in one for one in window.editor.lenses()), "on guard")

    window.editor.open("calc.py")
    window.editor.replace_line(2, WRONG_LINE)
    window.editor.save()
    window.notices.wait_bar(BAR, "1 regressed")
    window.views.wait_problem("calc.py")
    window.editor.open("test_calc.py")
    window.editor.wait_marked(ASSERTION)

    # The server that watches is killed: the guard outlives it.
    (process,) = server.language_servers()
    process.kill()
    window.until(lambda: [one for one in server.language_servers() if one.pid != process.pid], "another server")
    window.editor.open("calc.py")
    window.editor.replace_line(2, RIGHT_LINE)
    window.editor.save()
    window.notices.wait_bar(BAR, "1 of 1 met")
    window.until(lambda: not window.views.problems(), "without problems")

    window.palette.run("Done When: Lift Guard")
    window.editor.open("GOAL.md")
    window.until(lambda: not any("Lift guard" in one for one in window.editor.lenses()), "the guard lifted")

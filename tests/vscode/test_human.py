"""A person as the worker: from the palette to a goal that is complete, with nothing but the keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import ASSERTION, BAR, OBJECTIVE, RIGHT_LINE, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_goal_set_in_the_palette_is_watched_until_it_is_complete(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    window = open_window(server, folder)
    window.palette.run("Done When: Set Goal")
    window.palette.answer(OBJECTIVE)
    assert window.until(lambda: any("pytest" in one for one in window.palette.options()), "the detected check")
    window.palette.accept()
    window.palette.pick("You")
    window.editor.shown("GOAL.md")
    window.until(lambda: OBJECTIVE in window.editor.text(), "drafted")
    window.until((folder / "GOAL.md").read_text, "saved")

    window.until(lambda: "Start" in window.editor.actions(), "a button that starts it")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 2 met")
    window.until(lambda: "Start" not in window.editor.actions(), "rid of that button")
    window.editor.wait_marked("`python -m pytest -q` passes")
    window.editor.open("test_calc.py")
    window.editor.wait_marked(ASSERTION)
    window.views.wait_problem("test_add: assert -1 == 5", "line 5")

    window.editor.open("calc.py")
    window.editor.replace_line(2, RIGHT_LINE)
    window.editor.save()
    window.notices.wait_bar(BAR, "1 of 2 met")
    window.editor.open("test_calc.py")
    window.editor.wait_marked()

    # The objective itself is a requirement, too, and no check decides it.
    window.notices.press(OBJECTIVE, "Waive")
    window.notices.wait_bar(BAR, "1 of 2 met, 1 waived")
    window.until(lambda: not window.views.problems(), "without problems")


def test_a_goal_for_an_agent_is_drafted_before_anything_else_is_asked(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    window = open_window(server, folder)
    window.palette.run("Done When: Set Goal")
    window.palette.answer(OBJECTIVE)
    assert window.until(lambda: any("pytest" in one for one in window.palette.options()), "the detected check")
    window.palette.accept()
    window.palette.pick("The built-in agent")
    window.until(lambda: (folder / "GOAL.md").exists(), "a goal file while the model is asked for")
    window.until(lambda: "worker: agent" in (folder / "GOAL.md").read_text(), "with the worker that was picked")

    # The key is a step, not a notification that hides by itself.
    window.until(lambda: "built-in agent" in window.palette.title(), "the question for its model")
    window.palette.answer("anthropic/claude-sonnet-4-5")
    window.until(lambda: "judges" in window.palette.title(), "the question for the judge")
    window.palette.answer("")
    window.until(lambda: "API key for Anthropic" in window.palette.title(), "the question for the key")
    window.palette.dismiss()
    assert not window.notices.toasts()

"""A goal from the palette to its proof: what proves it and who works on it is chosen, and what that needs is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.scripted_models import calls
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, in_turn
from tests.vscode.site import BAR, OBJECTIVE, RIGHT, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_what_proves_a_goal_and_who_works_on_it_is_chosen_then_consent_is_asked(
    vsix: Path, open_window: Opener, models: Models, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    models.play(
        worker=in_turn(
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    served = {"donewhen.apiBase": models.served.base_url, "donewhen.showTimelineOnStart": "never"}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), served) as server:
        window = open_window(server, folder)
        window.palette.run("Done When: Start")
        window.notices.press("There is no goal file here yet.", "Set Goal")
        window.palette.answer(OBJECTIVE)
        window.until(lambda: offered(window, "python -m pytest -q", "fails now: 1 of 1 test failed"), "how it stands")
        assert offered(window, "You", "chosen")
        assert offered(window, "Set Goal and Start", "1 check proves it")

        # A check is added, and left out again.
        window.palette.answer("test -f NOTES.md")
        window.until(lambda: offered(window, "Set Goal and Start", "2 checks prove it"), "the check that was typed")
        window.palette.pick("test -f NOTES.md")
        window.until(lambda: offered(window, "test -f NOTES.md", "left out"), "left out")
        window.palette.pick("The built-in agent")
        window.until(
            lambda: offered(window, "Set Goal and Start", "The built-in agent; 1 check proves it"), "the worker"
        )
        window.palette.accept()
        # Nothing is asked that this goal doesn't need: what it is done by decides a check, and no judge.
        window.until(lambda: "built-in agent" in window.palette.title(), "the question for its model")
        window.palette.answer("openai/worker")
        asked = window.until(window.notices.dialogs, "the consent", 90)[0]
        assert "Start this run?" in asked
        assert "openai/worker" in asked
        window.notices.press_dialog("Start this run?", "Start")
        window.notices.wait_bar(BAR, "1 of 1 met", 90)
        assert (folder / "calc.py").read_text() == RIGHT
        drafted = (folder / "GOAL.md").read_text()
        assert "worker: agent\n" in drafted
        assert "NOTES.md" not in drafted


def offered(window: Workbench, *parts: str) -> bool:
    """Whether the picker has an entry that holds all of these."""
    return any(all(part in option for part in parts) for option in window.palette.options())

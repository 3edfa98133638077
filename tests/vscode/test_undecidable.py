"""What nothing can decide: a check or a judge is a button away, and the run that asks goes on with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.agent.site import judge_says
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models
from tests.vscode.site import BAR, RIGHT, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
WORDS = "The code is a pleasure to read"
GOAL = f"---\nworker: human\n---\n# Make add right\n\n- [ ] `python -m pytest -q` passes\n- [ ] {WORDS}\n"
ASKED = f"Nothing can decide R2: {WORDS}"


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    """Of a person who has no model yet, only an address where models would be served."""
    own = {"donewhen.judgeApiBase": models.served.base_url}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), own) as server:
        yield server


def asked(window: Workbench, folder: Path) -> str:
    """The run is at the point where only the words are left; the question."""
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 2 met")
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    return window.notices.wait(ASKED)


def test_a_check_is_added_and_decides_it(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    folder = project(tmp_path / "adder", GOAL)
    window = open_window(server, folder)
    told = asked(window, folder)
    # A word of one's own that stands for proof is not offered first.
    assert told.index("Add Check") < told.index("Choose Judge")
    assert "Waive" not in told.splitlines()
    window.notices.press(ASKED, "Add Check")
    window.until(lambda: "Add a check" in window.palette.title(), "the question for a command")
    window.palette.answer("test -f STYLE.md")
    window.until(lambda: "  - check: `test -f STYLE.md`\n" in (folder / "GOAL.md").read_text(), "the check in the file")
    window.notices.gone(ASKED)
    window.notices.wait_bar(BAR, "1 of 2 met")
    (folder / "STYLE.md").write_text("plain\n", encoding="utf-8")
    window.notices.wait_bar(BAR, "2 of 2 met")
    window.notices.wait("Proven: 2 of 2 in")


def test_a_judge_is_chosen_and_the_same_run_goes_on_with_it(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    models.play(judge=judge_says("met"))
    folder = project(tmp_path / "adder", GOAL)
    window = open_window(server, folder)
    asked(window, folder)
    window.notices.press(ASKED, "Choose Judge")
    window.until(lambda: "judges" in window.palette.title(), "the question for the judge")
    window.palette.answer("openai/judge")
    window.until(lambda: "judge_model: openai/judge\n" in (folder / "GOAL.md").read_text(), "the judge in the file")
    window.notices.wait_bar(BAR, "2 of 2 met", 90)
    window.notices.wait("Proven: 2 of 2 in")
    window.palette.run("View: Show Done When")
    # One run from its start to its end.
    window.views.wait_tree("Goals", "Make add right")
    assert sum("Make add right" in one for one in window.views.tree("Goals")) == 1

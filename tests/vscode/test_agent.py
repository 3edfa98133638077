"""An agent as the worker: it asks before it does what matters, and what it asks outlives the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripted_models import calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, in_turn, one_by_one
from tests.vscode.site import BAR, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PUSH = "git push origin main"
GOAL = """\
# Make add right

- [ ] `python -m pytest -q` passes
"""


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), models.settings()) as server:
        yield server


def test_an_approval_is_still_there_after_the_window_was_reloaded(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    models.play(
        worker=in_turn(
            calls("run_command", command=PUSH),
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Set API Key")
    window.palette.pick("The worker's model")
    window.palette.answer("sk-of-the-worker")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    assert PUSH in window.notices.wait(PUSH)
    assert not models.served.failures

    window.reload()
    window.notices.wait("interrupted")
    window.palette.run("View: Show Done When")
    window.views.wait_tree("Goals", PUSH)
    window.notices.press("interrupted", "Resume")
    window.notices.press(PUSH, "Deny")
    window.notices.wait_bar(BAR, "1 of 1 met")
    assert (folder / "calc.py").read_text() == RIGHT


def test_what_was_done_can_be_read_in_the_timeline_and_as_evidence(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    models.play(
        worker=one_by_one(
            calls("report", state="finished", text="I believe that it is right."),
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    window = open_window(server, project(tmp_path / "adder", GOAL))
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    window.notices.wait_bar(BAR, "2/10 · 1 of 1 met")

    window.palette.run("Done When: Show Timeline")
    timeline = window.views.webview().locator("#timeline")
    window.until(lambda: "add adds now." in timeline.inner_text(), "in the timeline: what the worker said")
    chart = timeline.get_by_role("img").get_attribute("aria-label") or ""
    assert "over 2 iterations: the score went from 0 % to 100 %" in chart
    row = timeline.get_by_role("button", name="Iteration 2")
    row.focus()
    row.press("Enter")
    assert row.get_attribute("aria-expanded") == "true"
    detail = timeline.get_by_role("region", name="Iteration 2")
    window.until(lambda: "calc.py" in detail.inner_text(), "in the iteration: the file that was changed")

    window.palette.run("View: Show Done When")
    window.views.expand("Goals", "python -m pytest -q")
    window.views.press_row("Goals", "Evidence ")
    window.until(lambda: "Check `python -m pytest -q`: **passed**" in window.editor.text(), "the evidence")
    shown = window.editor.text()
    window.editor.active.click()
    window.page.keyboard.type("Forged: ")
    assert window.editor.text() == shown

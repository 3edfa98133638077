"""Consent and questions stay in sight, whether or not a notification is looked at, and so does how a run ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripted_models import calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, in_turn
from tests.vscode.site import BAR, PYTEST, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    settings = {**models.settings(), "donewhen.tickBoxes": True, "donewhen.inlayHints": True}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), settings) as server:
        yield server


def test_consent_is_a_dialog_and_a_question_needs_no_notification(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", PYTEST)
    models.play(
        worker=in_turn(
            calls("run_command", command="touch ASKED"),
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.editor.open("GOAL.md")
    window.palette.run("Done When: Start")

    # Limits are set where consent is asked for, which is asked again with them.
    shown = window.until(window.notices.dialogs, "a dialog", 90)[0]
    assert "Worker: the built-in agent" in shown
    assert "at most 10 iterations" in shown
    window.screenshot(tmp_path / "consent.png")
    window.notices.press_dialog("Start this run?", "Change Limits…")
    for title, limit in (("Iterations at most", "4"), ("Minutes at most", "5"), ("US dollars at most", "")):
        window.until(lambda title=title: title in window.palette.title(), f"the question: {title}")
        window.palette.answer(limit)
    window.until(lambda: any("4 iterations" in one for one in window.notices.dialogs()), "asked with those limits", 90)
    assert not window.notices.toasts()
    window.notices.press_dialog("Start this run?", "Start")

    # The notification is put off unanswered: lens, view and status bar go on asking.
    window.notices.wait("touch ASKED", 60)
    window.notices.put_off("touch ASKED")
    window.notices.wait_bar(BAR, "waiting for you")
    window.until(lambda: any(one.startswith("Answer") for one in window.editor.lenses()), "the lens Answer first")
    window.screenshot(tmp_path / "asked.png")
    window.palette.run("View: Show Done When")
    window.views.wait_tree("Goals", "asks: Run")
    window.views.press_row("Goals", "Approve")
    window.until((folder / "ASKED").exists, "the approved command run")

    # Its end is told to who looks at the goal, too.
    window.editor.open("GOAL.md")
    told = window.notices.wait("Proven: 1 of 1 in", 90)
    assert "Review Changes" in told
    assert "Commit…" in told
    window.screenshot(tmp_path / "proven.png")
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    window.notices.press("Proven: 1 of 1 in", "Copy Receipt")
    clipboard = "navigator.clipboard.readText()"
    window.until(lambda: "| `python -m pytest -q` passes |" in window.page.evaluate(clipboard), "the receipt")
    window.notices.gone("Proven: 1 of 1 in")

    # Its box ticks itself: saved, as nothing else was unsaved, and nothing turns stale by it.
    goal = folder / "GOAL.md"
    window.until(lambda: "- [x] " in goal.read_text(encoding="utf-8"), "ticked on the disk")
    window.until(lambda: any(one.startswith("Met") for one in window.editor.lenses()), "still met")
    window.until(lambda: "passes ✓ met" in window.editor.text(), "the same at the end of the line, after a space")
    window.editor.open("GOAL.md")
    window.page.keyboard.press("Control+z")
    window.until(lambda: any("- [ ]" in line for line in window.editor.lines()), "undone")

"""What a chat may ask of Done When, through another extension that invokes the tools as a chat does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.packages import asking_extension
from tests.vscode.site import project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TOOLS = ("get_goal_status", "check_goal")
GOAL = """\
# Leave *no* trace

- [ ] `touch ran.txt` passes
- [ ] `test -f never.txt` passes
"""
TITLE = "Check the goal?"


def answers(server: CodeServer) -> list[dict[str, Any]]:
    """What came back so far, oldest first."""
    said = server.user / "User" / "globalStorage" / "donewhen-tests.asking" / "answers"
    return [json.loads(line) for line in said.read_text().splitlines()] if said.exists() else []


def test_a_chat_reads_what_is_missing_and_checks_only_with_trust_and_leave(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "asked", GOAL)
    with installed(vsix, tmp_path_factory.mktemp("vscode"), {}, trust=False) as server:
        server.install(asking_extension(tmp_path / "asking.vsix", *TOOLS))
        window = open_window(server, folder)
        window.palette.run("Ask: get_goal_status")
        (status,) = window.until(lambda: answers(server), "an answer")
        assert "No goal has been checked or started yet. Goal files: GOAL.md." in status["text"]
        window.palette.run("Ask: check_goal")
        refused = window.until(lambda: answers(server)[1:], "refused")[0]
        assert "not trusted" in refused["problem"]
        assert not any(TITLE in one for one in window.notices.dialogs())
        assert not (folder / "ran.txt").exists()

        window.trust()
        checks = "Done When: Check Now"
        window.until(lambda: checks in " ".join(window.palette.commands("Done When: Ch")), "trusted")
        window.palette.run("Ask: check_goal")
        shown = window.until(
            lambda: next((one for one in window.notices.dialogs() if TITLE in one), None), "asked first"
        )
        assert "GOAL.md" in shown
        assert "touch ran.txt" in shown
        assert "test -f never.txt" in shown
        window.notices.press_dialog(TITLE, "Cancel")
        refused = window.until(lambda: answers(server)[2:], "refused")[0]
        assert "Cancel" in refused["problem"]
        assert not (folder / "ran.txt").exists()

        window.palette.run("Ask: check_goal")
        window.notices.press_dialog(TITLE, "Yes")
        checked = window.until(lambda: answers(server)[3:], "checked")[0]
        assert 'Goal "Leave *no* trace": checked, not complete. 1 of 2 requirements proven.' in checked["text"]
        assert '"`test -f never.txt` passes" is unmet' in checked["text"]
        assert (folder / "ran.txt").exists()
        window.palette.run("Ask: get_goal_status")
        status = window.until(lambda: answers(server)[4:], "the status")[0]
        assert status["text"] == checked["text"]

        # Whoever has no model for a chat reads the same on a page, which follows the goal.
        window.palette.run("Done When: Goal Status")
        page = window.views.webview().locator("body")
        window.until(lambda: "1 of 2 met" in page.inner_text(), "where it stands", 60)
        (folder / "never.txt").touch()
        window.palette.run(checks)
        window.until(lambda: "2 of 2 met" in page.inner_text(), "where it stands now", 60)

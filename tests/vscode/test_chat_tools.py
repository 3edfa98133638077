"""What a chat may ask of Done When, through another extension that invokes the tools as a chat does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.packages import asking_extension
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TOOLS = ("get_goal_status", "check_goal")
GOAL = """\
# Leave *no* trace

- [ ] `touch ran.txt` passes
- [ ] `test -f never.txt` passes
"""
TITLE = "Check the goal?"


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asking_extension(tmp_path_factory.mktemp("asking") / "asking.vsix", *TOOLS)


@pytest.fixture(scope="module")
def server(vsix: Path, asking: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), {}) as server:
        server.install(asking)
        yield server


def answers(server: CodeServer) -> list[dict[str, Any]]:
    """What came back so far, oldest first."""
    said = server.user / "User" / "globalStorage" / "donewhen-tests.asking" / "answers"
    return [json.loads(line) for line in said.read_text().splitlines()] if said.exists() else []


def test_a_chat_reads_what_is_missing_and_checks_only_with_leave(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "asked", GOAL)
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Ask: get_goal_status")
    (status,) = window.until(lambda: answers(server), "an answer")
    assert "No goal has been checked or started yet. Goal files: GOAL.md." in status["text"]

    window.palette.run("Ask: check_goal")
    shown = window.until(lambda: next((one for one in window.notices.dialogs() if TITLE in one), None), "asked first")
    assert "GOAL.md" in shown
    assert "touch ran.txt" in shown
    assert "test -f never.txt" in shown
    window.notices.press_dialog(TITLE, "Cancel")
    refused = window.until(lambda: answers(server)[1:], "refused")[0]
    assert "Cancel" in refused["problem"]
    assert not (folder / "ran.txt").exists()

    window.palette.run("Ask: check_goal")
    window.notices.press_dialog(TITLE, "Yes")
    checked = window.until(lambda: answers(server)[2:], "checked")[0]
    assert 'Goal "Leave *no* trace": checked, not complete. 1 of 2 requirements proven.' in checked["text"]
    assert '"`test -f never.txt` passes" is unmet' in checked["text"]
    assert (folder / "ran.txt").exists()

    window.palette.run("Ask: get_goal_status")
    status = window.until(lambda: answers(server)[3:], "the status")[0]
    assert status["text"] == checked["text"]


def test_nothing_is_checked_for_a_chat_in_a_workspace_that_is_not_trusted(
    vsix: Path, asking: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "strange", GOAL)
    with installed(vsix, tmp_path_factory.mktemp("vscode"), {}, trust=False) as server:
        server.install(asking)
        window = open_window(server, folder)
        window.palette.run("Ask: get_goal_status")
        (status,) = window.until(lambda: answers(server), "an answer")
        assert "Goal files: GOAL.md." in status["text"]
        window.palette.run("Ask: check_goal")
        refused = window.until(lambda: answers(server)[1:], "refused")[0]
        assert "not trusted" in refused["problem"]
        assert not any(TITLE in one for one in window.notices.dialogs())
        assert not (folder / "ran.txt").exists()

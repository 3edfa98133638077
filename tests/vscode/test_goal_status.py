"""Where goals stand, for whoever has no model for a chat: a page that follows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import BAR, PYTEST, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_answer_of_the_chat_opens_as_a_page_that_follows_the_goal(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", PYTEST)
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Goal Status")
    page = window.views.webview().locator("body")
    window.until(lambda: "Next: Check Now" in page.inner_text(), "what can be done where nothing is known")
    window.palette.run("Done When: Check Now")
    window.until(lambda: "0 of 1 met" in page.inner_text(), "where it stands", 60)
    assert "python -m pytest -q" in page.inner_text()
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    window.palette.run("Done When: Check Now")
    window.until(lambda: "1 of 1 met" in page.inner_text(), "where it stands now", 60)

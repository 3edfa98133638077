"""A requirement's status in the goal file: in the lens, and at the end of the line for who wants it there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import HUMAN, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_status_stands_in_the_lens_and_at_the_end_of_the_line_on_request(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", HUMAN)
    window = open_window(server, folder)
    window.editor.open("GOAL.md")
    window.palette.run("Done When: Check Now")
    window.until(lambda: any("Unmet" in lens for lens in window.editor.lenses()), "the status in the lens")
    window.editor.wait_marked("pytest", "NOTES.md")
    assert "✗ unmet" not in window.editor.text()

    server.configure({"editor.codeLens": False}, {"donewhen.inlayHints": True})
    again = open_window(server, folder)
    again.editor.open("GOAL.md")
    again.palette.run("Done When: Check Now")
    again.until(lambda: "passes ✗ unmet" in again.editor.text(), "the status at the end of the line, after a space")
    assert again.editor.lenses() == []

"""What a person does with a result: all that was changed in one editor, files put back, a commit prepared."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.vscode.conftest import Opener, installed
from tests.vscode.site import BAR, HUMAN, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_changes_are_reviewed_in_one_editor_and_put_back_by_file(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", HUMAN)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    with installed(vsix, tmp_path_factory.mktemp("vscode"), {}) as server:
        window = open_window(server, folder)
        window.notices.wait_bar(BAR, "Goal")
        window.editor.open("GOAL.md")
        window.palette.run("Done When: Start")
        window.editor.wait_marked("`python -m pytest -q` passes", "`test -f NOTES.md` passes")
        (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
        (folder / "NOTES.md").write_text("add adds now\n", encoding="utf-8")
        window.notices.wait("Proven: 2 of 2", 90)

        window.palette.run("Done When: Review Changes")
        tab = window.page.locator(".tab", has_text="Changes: Make add right (2 files)")
        window.until(lambda: tab.count() == 1, "one editor for all changes")
        for text in ("return a - b", "return a + b", "add adds now"):
            shown = window.page.locator(".monaco-diff-editor .view-lines", has_text=text.replace(" ", "\u00a0"))
            window.until(lambda shown=shown: shown.count() > 0, f"the text {text!r}")
        window.screenshot(tmp_path / "review.png")

        window.palette.run("Done When: Reject Files…")
        window.until(lambda: "Put back" in window.palette.title(), "the files to put back")
        window.page.locator(".quick-input-widget .monaco-list-row", has_text="NOTES.md").click()
        window.until(lambda: window.page.get_by_text("1 Selected").count() == 1, "one file chosen")
        window.screenshot(tmp_path / "reject.png")
        window.palette.accept()
        window.until(lambda: not (folder / "NOTES.md").exists(), "the file put back")
        assert (folder / "calc.py").read_text(encoding="utf-8") == RIGHT
        window.notices.wait_bar(BAR, "2 stale")

        window.palette.run("Done When: Commit…")
        message = window.page.locator(".scm-editor .view-lines")
        window.until(lambda: "Make\u00a0add\u00a0right" in message.inner_text(), "the receipt as the message")
        window.screenshot(tmp_path / "commit.png")
        log = subprocess.run(["git", "log"], cwd=folder, capture_output=True, check=False)
        assert log.returncode != 0, "something was committed"

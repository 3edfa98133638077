"""The editor as evidence: what VS Code's own language features report decides a requirement."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import BAR

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

GOAL = """\
---
worker: human
---
# Mend the settings

- [ ] No errors in Problems for `*.json`
"""
BROKEN = "[\n  1\n  2\n]\n"
MENDED = "1,"
SENTENCE = "No errors in Problems"


def broken(folder: Path) -> Path:
    folder.mkdir()
    (folder / "GOAL.md").write_text(GOAL, encoding="utf-8")
    (folder / "data.json").write_text(BROKEN, encoding="utf-8")
    return folder


def test_an_error_in_problems_is_unmet_until_the_file_is_mended_and_saved(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = broken(tmp_path / "mending")
    window = open_window(server, folder)
    window.editor.open("data.json")
    window.views.wait_problem("Expected comma")
    window.editor.open("GOAL.md")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 1 met")
    window.editor.wait_marked(SENTENCE)
    window.views.wait_problem("the editor reports 1 error: data.json:", "Expected comma")

    # The language's own mark is the only one there, and goes with what is typed.
    window.editor.open("data.json")
    window.editor.wait_marked("2")
    window.editor.replace_line(2, MENDED)
    window.editor.wait_marked()
    assert (folder / "data.json").read_text(encoding="utf-8") == BROKEN
    # The editor is content with text that is not on the disk: an audit, after another file is saved, doesn't take it.
    (folder / "notes.txt").write_text("saved\n", encoding="utf-8")
    window.views.wait_problem("unsaved text in `data.json`")
    window.notices.wait_bar(BAR, "0 of 1 met")

    window.editor.save()
    window.notices.wait_bar(BAR, "1 of 1 met")
    window.until(lambda: not window.views.problems(), "without problems")

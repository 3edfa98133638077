"""A workspace that nobody trusts yet: it is read, and nothing of it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.conftest import Opener, installed
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
---
wurker: human
---
# Leave a trace

- [ ] `touch ran.txt` passes
"""


def test_nothing_runs_until_the_workspace_is_trusted(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "strange", GOAL)
    with installed(vsix, tmp_path_factory.mktemp("vscode"), {}, trust=False) as server:
        window = open_window(server, folder)
        window.editor.open("GOAL.md")
        window.editor.wait_marked("wurker: human")
        offered = window.palette.commands("Done When: ")
        assert not [one for one in offered if one.startswith(("Done When: Start", "Done When: Check Now"))]
        assert not (folder / "ran.txt").exists()

        window.trust()
        window.editor.open("GOAL.md")
        window.editor.replace_line(2, "worker: human")
        window.editor.save()
        window.editor.wait_marked()
        window.palette.run("Done When: Check Now")
        window.notices.wait_bar(BAR, "1 of 1 met")
        assert (folder / "ran.txt").exists()

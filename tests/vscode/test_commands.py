"""The palette: what each command says where there is nothing to do, and what it does to the person's own work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models
from tests.vscode.site import project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    models = Models()
    with models.served:
        yield models


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), models.settings()) as server:
        yield server


def test_what_can_not_be_done_is_said(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    window = open_window(server, None)
    for title in ("Set Goal", "Start", "Check Now"):
        window.palette.run(f"Done When: {title}")
        assert "Open Folder" in window.notices.wait("A goal belongs to a folder.")
        window.notices.close("A goal belongs to a folder.")

    window = open_window(server, project(tmp_path / "adder"))
    for title in ("Start", "Check Now"):
        window.palette.run(f"Done When: {title}")
        assert "Set Goal" in window.notices.wait("There is no goal file here yet.")
        window.notices.close("There is no goal file here yet.")
    offered = " ".join(window.palette.commands("Done When: "))
    for title in ("Pause", "Resume", "Stop", "Answer", "Report", "Revert", "Waive", "Timeline"):
        assert title not in offered

    window.palette.run("Done When: Choose Models")
    window.palette.answer("no provider")
    assert "provider/name" in window.palette.message()
    window.palette.dismiss()
    window.palette.run("Done When: Restart Server")
    window.palette.run("Done When: Show Logs")
    window.until(lambda: "Done When" in window.views.output(), "the log")

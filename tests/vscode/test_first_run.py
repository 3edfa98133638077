"""Nothing is configured: the extension makes an environment of its own from the wheel that it brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, environment
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_server_runs_from_an_environment_that_the_extension_made(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", "# Notes\n\n- [ ] `test -f NOTES.md` passes\n")
    place = tmp_path_factory.mktemp("vscode")
    with CodeServer(place, env=environment(place)) as server:
        server.install(vsix)
        server.start()
        window = open_window(server, folder)
        (process,) = window.until(server.language_servers, "a language server", 150)
        assert str(server.user) in process.cmdline()[0]
        (folder / "NOTES.md").write_text("here\n", encoding="utf-8")
        window.palette.run("Done When: Check Now")
        window.notices.wait_bar(BAR, "1 of 1 met")

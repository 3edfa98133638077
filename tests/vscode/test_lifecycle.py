"""A run across what happens to its window and its server: reloaded, killed."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import BAR, HUMAN, RIGHT, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def started(window: Workbench, pattern: str) -> None:
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, pattern)


def test_a_run_is_taken_up_again_after_a_reload_and_taken_over_by_a_second_window(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    first = open_window(server, folder)
    a_window_has_a_server_once_there_is_a_goal(first, server, folder)
    before = failed_providers(server)
    a_reload_is_no_failure_and_the_run_goes_on(first, folder)
    (process,) = server.language_servers()
    assert failed_providers(server) == before

    second = open_window(server, folder)
    second.notices.wait_bar(BAR, "1 of 2 met")
    process.send_signal(signal.SIGKILL)
    assert "Take the run over here?" in second.notices.wait("is gone")
    second.notices.wait_bar(BAR, "take over\\?")
    assert second.palette.commands("Done When: Take") == ["Done When: Take Over Run"]
    second.notices.press("is gone", "Take Over")
    second.notices.gone("is gone")
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    second.notices.wait_bar(BAR, "2 of 2 met")
    # The window whose server was killed has another one.
    first.notices.wait_bar(BAR, "2 of 2 met")
    a_close_is_no_failure([first, second], server)


def a_window_has_a_server_once_there_is_a_goal(window: Workbench, server: CodeServer, folder: Path) -> None:
    window.until(lambda: any("activated in" in text for text in server.logs().values()), "the extension at work")
    window.editor.open("calc.py")
    assert (server.language_servers(), window.notices.bar(BAR)) == ([], "")
    # As `donewhen init` does in a terminal.
    (folder / "GOAL.md").write_text(HUMAN, encoding="utf-8")
    window.until(server.language_servers, "a server")
    started(window, "0 of 2 met")


def a_reload_is_no_failure_and_the_run_goes_on(window: Workbench, folder: Path) -> None:
    """The editor asks for lenses until the last moment, also while the server ends."""
    window.editor.open("GOAL.md")
    window.editor.replace_line(1, "---")
    window.reload()
    window.notices.press("interrupted", "Resume")
    (folder / "NOTES.md").write_text("added\n", encoding="utf-8")
    window.notices.wait_bar(BAR, "1 of 2 met")


def a_close_is_no_failure(windows: list[Workbench], server: CodeServer) -> None:
    before = failed_providers(server)
    for window in windows:
        window.page.goto("about:blank")
    windows[0].until(lambda: not server.language_servers(), "windows whose servers have ended", 60)
    assert failed_providers(server) == before


def failed_providers(server: CodeServer) -> list[str]:
    hosts = [text for name, text in server.logs().items() if name.endswith("remoteexthost.log")]
    assert hosts
    return [line for text in hosts for line in text.splitlines() if "donewhen.donewhen] provider FAILED" in line]

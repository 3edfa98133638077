"""A run across what happens to its window and its server: reloaded, stopped, killed."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import BAR, HUMAN, RIGHT, RIGHT_LINE, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SLEEPER = """\
---
worker: human
---
# Wait for it

- [ ] `sleep 987.25` passes
"""


def started(window: Workbench, pattern: str) -> None:
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, pattern)


def sleepers() -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["cmdline"]) if "987.25" in (one.info["cmdline"] or [])]


def test_a_window_has_a_server_once_there_is_a_goal(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    folder = project(tmp_path / "adder")
    window = open_window(server, folder)
    window.until(lambda: any("activated in" in text for text in server.logs().values()), "the extension at work")
    window.editor.open("calc.py")
    assert (server.language_servers(), window.notices.bar(BAR)) == ([], "")
    # As `donewhen init` does in a terminal.
    (folder / "GOAL.md").write_text(HUMAN, encoding="utf-8")
    window.until(server.language_servers, "a server")
    started(window, "0 of 2 met")


def test_a_run_is_taken_up_again_after_a_reload_and_after_a_kill(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", HUMAN)
    window = open_window(server, folder)
    started(window, "0 of 2 met")

    window.reload()
    assert "interrupted" in window.notices.wait("interrupted")
    window.notices.press("interrupted", "Resume")
    (folder / "NOTES.md").write_text("added\n", encoding="utf-8")
    window.notices.wait_bar(BAR, "1 of 2 met")

    (process,) = server.language_servers()
    process.send_signal(signal.SIGKILL)
    window.notices.wait("interrupted")
    (again,) = server.language_servers()
    assert again.pid != process.pid
    window.notices.press("interrupted", "Resume")
    window.editor.open("calc.py")
    window.editor.replace_line(2, RIGHT_LINE)
    window.editor.save()
    window.notices.wait_bar(BAR, "2 of 2 met")


def test_a_second_window_takes_over_the_run_of_one_whose_server_was_killed(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", HUMAN)
    first = open_window(server, folder)
    started(first, "0 of 2 met")
    (process,) = server.language_servers()
    second = open_window(server, folder)
    second.notices.wait_bar(BAR, "0 of 2 met")

    process.send_signal(signal.SIGKILL)
    assert "Take the run over here?" in second.notices.wait("is gone")
    second.notices.wait_bar(BAR, "take over\\?")
    assert second.palette.commands("Done When: Take") == ["Done When: Take Over Run"]
    second.notices.press("is gone", "Take Over")
    second.notices.gone("is gone")
    (folder / "NOTES.md").write_text("added\n", encoding="utf-8")
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    second.notices.wait_bar(BAR, "2 of 2 met")
    first.notices.wait_bar(BAR, "2 of 2 met")


def test_stop_ends_the_run_with_all_that_it_started(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    window = open_window(server, project(tmp_path / "waiter", SLEEPER))
    started(window, "0 of 1 met")
    window.until(sleepers, "the check's process")
    window.palette.run("Done When: Stop")
    window.until(lambda: not sleepers(), "rid of the check's process", 5)
    window.until(lambda: "cancelled" in window.notices.bar_label(BAR), "cancelled in the status bar")


def test_a_reload_and_a_close_are_no_failures(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    """The editor asks for lenses until the last moment, also while the server ends."""
    folder = project(tmp_path / "adder", HUMAN)
    window = open_window(server, folder)
    started(window, "0 of 2 met")
    window.editor.open("GOAL.md")
    for _ in range(2):
        window.editor.replace_line(1, "---")
        window.reload()
        window.notices.wait("interrupted")
        window.editor.open("GOAL.md")
    window.page.goto("about:blank")
    window.until(lambda: not server.language_servers(), "a window whose server has ended", 60)
    hosts = {name: text for name, text in server.logs().items() if name.endswith("remoteexthost.log")}
    assert hosts
    failed = {name: text for name, text in hosts.items() if re.search(r"donewhen\.donewhen\] provider FAILED", text)}
    assert failed == {}

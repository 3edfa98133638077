"""Servers that are none, that say nothing, that are of another version, or that end again and again."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.site import BAR, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = "# Notes\n\n- [ ] `test -f NOTES.md` passes\n"
NOT_STARTED = "could not be started. The log says more."
OF_VERSION = """\
import sys
import donewhen.version
donewhen.version.__version__ = "{version}"
from donewhen.__main__ import main
sys.argv[0] = "donewhen"
sys.exit(main())
"""


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def of_version(place: Path, version: str) -> str:
    script = place / f"{version}.py"
    script.write_text(OF_VERSION.format(version=version), encoding="utf-8")
    return program(place / version, f'exec "{sys.executable}" -P {script} "$@"')


def test_what_is_configured_and_can_t_be_is_told_and_set_right_in_place(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    place = tmp_path_factory.mktemp("vscode")
    settings = {"donewhen.serverPath": str(tmp_path / "nowhere")}
    with installed(vsix, place, settings) as server:
        window = open_window(server, folder)

        def configured(setting: str, value: str, told: str) -> str:
            server.configure(machine={"donewhen.serverPath": "", setting: value})
            return window.notices.wait(told)

        no_file = window.notices.wait("nowhere is configured to be Done When’s server, but is not a file.")
        assert all(button in no_file for button in ("Open Settings", "Use an Environment of Its Own", "Show Logs"))
        configured(
            "donewhen.serverPath", "./donewhen", "./donewhen is configured to be Done When’s server, but is not an abs"
        )
        chatty = program(tmp_path / "chatty", "printf 'hello\\r\\n\\r\\n'; exec sleep 300.25")
        assert "Try Again" in configured("donewhen.serverPath", chatty, f"chatty {NOT_STARTED}")
        window.until(lambda: not sleepers(), "rid of the program that was no server")
        configured("donewhen.serverPath", program(tmp_path / "short", "exit 3"), f"short {NOT_STARTED}")
        silent = program(tmp_path / "silent", "exec sleep 300.25")
        server.configure(machine={"donewhen.serverPath": silent})
        window.notices.wait(f"silent {NOT_STARTED}", 60)
        window.until(lambda: not sleepers(), "rid of the program that said nothing")
        configured(
            "donewhen.interpreter", str(tmp_path / "none"), "none is configured to run Done When, but is not a Python"
        )
        old = program(tmp_path / "old", """echo '{"version": [3, 9], "donewhen": "0.1.0"}'""")
        configured("donewhen.interpreter", old, "old is Python 3.9; Done When needs 3.11.")
        bare = program(tmp_path / "bare", """echo '{"version": [3, 12], "donewhen": null}'""")
        assert "Install It There" in configured(
            "donewhen.interpreter", bare, "bare is configured to run Done When, but doesn’t have"
        )
        server.configure(machine={"donewhen.interpreter": sys.executable})
        window.until(server.language_servers, "a language server")


def sleepers() -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["cmdline"]) if "300.25" in (one.info["cmdline"] or [])]


@pytest.mark.parametrize(("version", "told"), [("0.0.7", "older than"), ("9.0.0", "newer than")])
def test_a_server_of_another_version_is_told_and_used(
    vsix: Path,
    open_window: Opener,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    version: str,
    told: str,
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    with installed(
        vsix, tmp_path_factory.mktemp("vscode"), {"donewhen.serverPath": of_version(tmp_path, version)}
    ) as server:
        window = open_window(server, folder)
        assert version in window.notices.wait(told)
        window.notices.ignore(told)
        window.notices.press_bar(BAR)
        assert "Open Settings" in window.until(window.palette.options, "what can be done")[0]
        window.palette.dismiss()
        (folder / "NOTES.md").write_text("here\n", encoding="utf-8")
        window.palette.run("Done When: Check Now")
        window.notices.wait_bar(BAR, "1 of 1 met")


def test_a_server_that_is_killed_again_and_again_is_left_alone_until_a_person_asks(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    window = open_window(server, project(tmp_path / "adder", GOAL))
    window.notices.wait_bar(BAR, "Goal")
    over = "ended unexpectedly several times"
    killed: set[int] = set()
    while not any(over in toast for toast in window.notices.toasts()):
        assert len(killed) < 10
        window.until(lambda: killed_one(server, killed) or told(window, over), "a server, or a word")
    assert len(killed) == 6
    assert "Show Logs" in window.notices.wait(over)
    window.notices.press(over, "Restart Server")
    window.until(server.language_servers, "a language server")
    window.palette.run("Done When: Check Now")
    window.notices.wait_bar(BAR, "0 of 1 met")


def killed_one(server: CodeServer, killed: set[int]) -> bool:
    """Kills the server that runs. Only one that is fully started counts as a crash: it answers first."""
    fresh = [one for one in server.language_servers() if one.pid not in killed]
    ready = sum(text.count("the server is ready") for text in server.logs().values())
    if not fresh or ready <= len(killed):
        return False
    fresh[0].send_signal(signal.SIGKILL)
    killed.add(fresh[0].pid)
    return True


def told(window: Workbench, words: str) -> bool:
    return any(words in toast for toast in window.notices.toasts())

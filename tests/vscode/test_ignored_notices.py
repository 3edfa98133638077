"""Nothing rests on a notification: what one offers is there for a person who never looked at it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NOTES = "---\nworker: human\n---\n# Write notes\n\n- [ ] `test -f NOTES.md` passes\n"
LICENCE = "---\nworker: human\n---\n# Add a licence\n\n- [ ] `test -f LICENCE` passes\n"
PROVEN = "Proven: 1 of 1 in"


def test_what_comes_after_the_proof_is_in_the_menu_of_the_status_bar(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", NOTES)
    window = open_window(server, folder)
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 1 met")
    (folder / "NOTES.md").write_text("here\n", encoding="utf-8")
    window.notices.ignore(PROVEN)
    window.notices.press_bar(BAR)
    shown = window.until(window.palette.options, "what can be done")
    assert [
        one for one in ("Review Changes", "Commit…", "Copy Receipt") if not any(one in each for each in shown)
    ] == []
    window.palette.pick("Copy Receipt")
    clipboard = "navigator.clipboard.readText()"
    window.until(lambda: "complete, 1 of 1 proven" in window.page.evaluate(clipboard), "the receipt")


def test_a_goal_that_another_one_keeps_from_starting_is_asked_about_in_a_dialog(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", NOTES)
    (folder / "licence.goal.md").write_text(LICENCE, encoding="utf-8")
    window = open_window(server, folder)
    window.editor.open("GOAL.md")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 1 met")
    window.editor.open("licence.goal.md")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("A run of “Write notes” is in progress", "Pause It and Start This One")
    window.until(lambda: "Add a licence: running" in window.notices.bar_label(BAR), "the second goal running")
    assert not window.notices.toasts()


def test_settings_that_wait_for_the_end_of_a_run_are_taken_then_or_on_request(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", NOTES)
    place = tmp_path_factory.mktemp("vscode")
    other = place / "other"
    other.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m donewhen "$@"\n', encoding="utf-8")
    other.chmod(0o755)
    with installed(vsix, place, {}) as server:
        window = open_window(server, folder)
        window.editor.open("GOAL.md")
        window.palette.run("Done When: Start")
        window.notices.wait_bar(BAR, "0 of 1 met")
        (before,) = server.language_servers()
        server.configure(machine={"donewhen.serverPath": str(other)})
        window.notices.ignore("take effect once no run is in progress")
        assert [one.pid for one in server.language_servers()] == [before.pid]
        window.notices.press_bar(BAR)
        assert "Restart Server" in window.until(window.palette.options, "what can be done")[0]
        window.palette.dismiss()

        window.palette.run("Done When: Stop")
        window.until(
            lambda: any(one.pid != before.pid for one in server.language_servers()), "the server of the other program"
        )
        window.until(lambda: not before.is_running(), "the one of before ended")


def test_a_server_that_can_t_run_says_why_wherever_it_is_looked_for(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", NOTES)
    settings = {"donewhen.serverPath": str(tmp_path / "nowhere")}
    why = "is configured to be Done When’s server, but is not a file."
    with installed(vsix, tmp_path_factory.mktemp("vscode"), settings) as server:
        window = open_window(server, folder)
        window.notices.ignore(why)
        assert "nowhere" in window.notices.bar_tooltip(BAR, why)
        window.notices.press_bar(BAR)
        shown = window.until(window.palette.options, "what can be done")
        assert "Open Settings" in shown[0]
        assert "Use an Environment of Its Own" in shown[1]
        window.palette.dismiss()
        # Whoever tries again is told again.
        window.palette.run("Done When: Restart Server")
        window.notices.wait(why)

"""Attempts that a command in a terminal made are compared in the window, and one is applied."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vscode.conftest import Opener, installed
from tests.vscode.site import BAR, PYTEST, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WORK = f'case "$PWD" in */1/*) touch tried.txt;; *) printf {RIGHT!r} > calc.py;; esac'
"""The second attempt puts it right, the first one doesn't."""


def attempts(folder: Path, state: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
    command = [sys.executable, "-m", "donewhen", "--workspace", str(folder), "--state-dir", str(state), *argv]
    return subprocess.run(command, env=kept, capture_output=True, text=True, timeout=120, check=False)


def test_attempts_are_compared_looked_at_and_one_is_applied(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder, state = project(tmp_path / "adder", PYTEST), tmp_path / "state"
    run = ("run", "--attempts", "2", "--keep", "ask", "--worker-command", WORK, "--max-iterations", "1")
    made = attempts(folder, state, *run)
    assert made.returncode == 3, made.stderr
    with installed(vsix, tmp_path_factory.mktemp("vscode"), {"donewhen.stateDir": str(state)}) as server:
        window = open_window(server, folder)
        window.notices.wait_bar(BAR, "Goal")
        window.palette.run("Done When: Compare Attempts…")
        window.until(lambda: "Attempts: GOAL.md" in window.palette.title(), "the comparison")
        rows = window.until(lambda: window.palette.options(), "a row for each attempt")
        assert ["1 · capped" in rows[0], "2 · proven" in rows[1], "1 of 1 proven" in rows[1]] == [True] * 3
        window.screenshot(tmp_path / "attempts.png")
        window.palette.pick("2 · proven")
        window.palette.pick("Show Changes")
        tab = window.page.locator(".tab", has_text="Changes of attempt 2: GOAL.md (1 file)")
        window.until(lambda: tab.count() == 1, "the changes in one editor")
        for text in ("return a - b", "return a + b"):
            shown = window.page.locator(".monaco-diff-editor .view-lines", has_text=text.replace(" ", "\u00a0"))
            window.until(lambda shown=shown: shown.count() > 0, f"the text {text!r}")
        window.screenshot(tmp_path / "changes.png")

        window.palette.run("Done When: Compare Attempts…")
        window.palette.pick("2 · proven")
        window.palette.pick("Apply")
        window.notices.press_dialog("Apply the changes of attempt 2", "Apply")
        window.notices.wait("It is proven here: 1 of 1 met", 90)
        assert (folder / "calc.py").read_text(encoding="utf-8") == RIGHT
        window.notices.wait_bar(BAR, "1 of 1")

        # After one is dropped the others are shown again; once there are none, the command isn't offered.
        window.palette.run("Done When: Compare Attempts…")
        for row in ("1 · capped", "2 · proven · applied"):
            window.palette.pick(row)
            window.palette.pick("Drop")
            window.notices.press_dialog(f"Drop attempt {row[0]}?", "Drop")
        window.until(lambda: not list(state.glob("workspaces/*/attempts/*/group.json")), "no attempts left")
        command = "Done When: Compare Attempts…"
        window.until(lambda: command not in " ".join(window.palette.commands("Done When: C")), "no such command")

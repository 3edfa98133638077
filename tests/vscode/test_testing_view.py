"""Goals in the Testing view: requirements and their tests, run from there, marked in the goal's gutter."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import BAR, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
---
worker: human
---
# Make add right

- [ ] `python -m pytest -q` passes
- [ ] `test -f calc.py` passes
"""
ROWS = """all => all.map(row => {
  const icons = [...row.querySelectorAll('[class*=codicon-testing]')];
  return `${row.textContent} ${icons.map(one => one.className)}`;
})"""
GLYPHS = ".glyph-margin-widgets .testing-run-glyph"


def test_requirements_are_run_from_the_testing_view_and_marked_in_the_gutter(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    server.configure(machine={"donewhen.testExplorer": True})
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Testing: Focus on Test Explorer View")
    rows = window.page.locator(".part.sidebar .monaco-list-row")

    def shown() -> list[str]:
        """The rows with the classes of their icons, which say how they stand."""
        return rows.evaluate_all(ROWS)

    def unfold(text: str) -> None:
        """The tree is drawn anew with each result, and may fold a row again."""
        row = rows.filter(has_text=text).first

        def unfolded() -> bool:
            if row.get_attribute("aria-expanded") != "true":
                row.locator(".monaco-tl-twistie").click()
                with contextlib.suppress(AssertionError):
                    window.until(lambda: row.get_attribute("aria-expanded") == "true", "drawn unfolded", 3)
            return row.get_attribute("aria-expanded") == "true"

        window.until(unfolded, f"unfolded: {text}")

    window.until(lambda: [one for one in shown() if "Make add right" in one], "the goal")
    window.palette.run("Test: Run All Tests")
    window.notices.wait_bar(BAR, "1 of 2 met", 60)
    window.palette.run("Testing: Focus on Test Explorer View")
    unfold("Make add right")
    found = window.until(lambda: [one for one in shown() if "R1" in one and "-failed" in one], "what is unmet")[0]
    assert "python -m pytest -q passes" in found
    assert "-passed" in next(one for one in shown() if "R2" in one)

    window.palette.run("Test: Show Output")
    terminal = window.page.locator(".xterm-rows")

    def printed() -> str:
        return " ".join(terminal.all_inner_texts()).replace("\u00a0", " ")

    window.until(lambda: "1 failed" in printed() and "$ test -f calc.py" in printed(), "what the checks printed")

    unfold("R1")
    cases = window.until(lambda: [one for one in shown() if "test_add" in one], "its tests")
    assert "failed" in cases[0]

    window.editor.open("GOAL.md")

    def marks() -> str:
        return " ".join(window.page.locator(GLYPHS).evaluate_all("all => all.map(one => one.className)"))

    window.until(lambda: "passed" in marks() and re.search("failed|error", marks()), "marks on the lines")

    (folder / "calc.py").write_text(RIGHT)
    window.palette.run("Test: Run All Tests")
    window.notices.wait_bar(BAR, "2 of 2 met", 60)
    window.until(lambda: all("-passed" in one for one in shown() if "R1" in one or "R2" in one), "both passed")

    # Where a setting says so, there is nothing of it.
    server.configure(machine={"donewhen.testExplorer": False})
    window.until(lambda: window.page.locator(GLYPHS).count() == 0, "no marks any more")

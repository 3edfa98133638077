"""A goal in the Markdown preview: it looks as it does in the editor, in every theme, and follows what is proven."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import BAR, RIGHT, project
from tests.vscode.themes import in_each_theme

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
---
worker: human
---
# Make add right

- [ ] `python -m pytest -q` passes
- [x] The notes exist
  - check: `test -f NOTES.md`
"""
# The preview lets the editor's colour through, which is outside of its page.
VIOLATIONS = """() => {
  document.documentElement.style.background = 'var(--vscode-editor-background)';
  return axe.run('.donewhen-requirement', { resultTypes: ['violations'] });
}"""


def test_requirements_have_boxes_and_their_status(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    from tests.vscode.timeline import AXE

    folder = project(tmp_path / "adder", GOAL)
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.editor.open("GOAL.md")
    window.palette.run("Markdown: Open Preview to the Side")
    frame = window.views.webview()
    items = frame.locator("li.donewhen-requirement")
    items.nth(1).wait_for()
    assert "[ ]" not in items.nth(0).inner_text()
    assert frame.get_by_role("img", name="not ticked").count() == 1
    assert frame.get_by_role("img", name="ticked", exact=True).count() == 1

    window.palette.run("Done When: Check Now")
    window.notices.wait_bar(BAR, "0 of 2 met", 60)
    window.until(lambda: "Unmet" in items.nth(0).inner_text(), "what is unmet")
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    (folder / "NOTES.md").write_text("here", encoding="utf-8")
    window.palette.run("Done When: Check Now")
    window.notices.wait_bar(BAR, "2 of 2 met", 60)
    window.until(lambda: "Met" in items.nth(0).inner_text(), "what is met")
    assert "Met" in items.nth(1).inner_text()

    page = frame.locator("html")

    def violations() -> list[tuple[str, str]] | None:
        """None where the preview was drawn anew meanwhile."""
        from playwright.sync_api import Error as PlaywrightError

        with contextlib.suppress(PlaywrightError):
            if not page.evaluate("() => 'axe' in window"):
                page.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')} }}")
            found = page.evaluate(VIOLATIONS)
            return [(node["html"], node["failureSummary"]) for one in found["violations"] for node in one["nodes"]]
        return None

    for theme in in_each_theme(window, page.evaluate):
        found: list[tuple[str, str]] | None = None
        while found is None:
            found = violations()
        assert (theme, found) == (theme, [])

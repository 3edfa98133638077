"""Evidence in the editor: hovers, quick fixes and related places lead to one document that nobody can edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import ASSERTION, BAR, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
HOSTILE = "[press](command:workbench.action.closeAllEditors) <b>bold</b> ![x](https://example.org/x.png)"
GOAL = """\
---
worker: human
---
# Make add right

- [ ] `python -m pytest -q` passes
- [ ] `cat said.txt && false` passes
"""


def started(open_window: Opener, server: CodeServer, folder: Path) -> Workbench:
    (folder / "said.txt").write_text(f"```\n{HOSTILE}\n", encoding="utf-8")
    window = open_window(server, folder)
    window.editor.open("GOAL.md")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 2 met")
    return window


def test_hovers_and_related_places_lead_to_the_evidence_and_quick_fixes_waive(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    window = started(open_window, server, project(tmp_path / "adder", GOAL))
    window.until(lambda: any("Unmet · Evidence" in one for one in window.editor.lenses()), "a lens with evidence")

    # Output of a check stays text, and the one link runs the one command that opens evidence.
    hover = window.hovers.over("said.txt", "is the number of this requirement")
    assert "Unmet · decided by a check · R2" in hover.text
    assert HOSTILE in hover.text
    assert hover.tags.isdisjoint({"B", "IMG"})
    assert [link for link in hover.links if link[1].startswith("command:workbench")] == []
    (name,) = {text for text, target in hover.links if target.startswith("command:donewhen.openEvidence")}
    window.hovers.press(name)
    evidence_is_shown(window, f"{name}.md", "said.txt")
    nobody_can_edit_it(window)
    kept, evidence = window.editor.name(), window.editor.text()
    window.palette.run("View: Keep Editor")

    window.editor.open("test_calc.py")
    window.editor.wait_marked(ASSERTION)
    hover = window.hovers.over(ASSERTION, "assert -1 == 5")
    (name,) = {text for text, _ in hover.links if text.startswith("E") and ".md" in text}
    window.hovers.press(name)
    evidence_is_shown(window, name.partition("(")[0], "pytest")
    quick_fixes_waive_with_a_reason(window)

    window.remembers(kept)
    window.reload()
    window.editor.press_tab(kept)
    window.until(lambda: window.editor.text() == evidence, "the evidence as it was")
    nobody_can_edit_it(window)


def evidence_is_shown(window: Workbench, name: str, text: str) -> None:
    window.editor.shown(name)
    window.until(lambda: "# Evidence E" in window.editor.text() and text in window.editor.text(), "the evidence")


def nobody_can_edit_it(window: Workbench) -> None:
    before = window.editor.text()
    window.editor.active.click()
    window.page.keyboard.type("x")
    window.until(lambda: "read-only" in window.hovers.refusal(), "told that it can't be edited")
    assert window.editor.text() == before


def quick_fixes_waive_with_a_reason(window: Workbench) -> None:
    window.editor.open("GOAL.md")
    window.editor.wait_marked("python -m pytest", "said.txt")
    window.palette.go_to(6)
    offered = window.hovers.fixes()
    assert [one.rstrip("0123456789") for one in offered[:2]] == ["Open the evidence E", "Waive R"]
    window.hovers.fix("Waive R1")
    window.palette.answer("Tested by hand")
    window.until(lambda: "1 waived" in window.notices.bar_label(BAR), "waived")
    window.editor.wait_marked("said.txt")

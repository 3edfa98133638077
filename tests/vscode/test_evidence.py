"""Evidence in the editor: hovers, quick fixes and related places lead to one document that nobody can edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener
from tests.vscode.site import ASSERTION, BAR, RIGHT_LINE, project

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

    window.editor.open("test_calc.py")
    window.editor.wait_marked(ASSERTION)
    hover = window.hovers.over(ASSERTION, "assert -1 == 5")
    (name,) = {text for text, _ in hover.links if text.startswith("E") and ".md" in text}
    window.hovers.press(name)
    evidence_is_shown(window, name.partition("(")[0], "pytest")
    quick_fixes_waive_with_a_reason(window)


def evidence_is_shown(window: Workbench, name: str, text: str) -> None:
    window.editor.shown(name)
    window.until(lambda: "# Evidence E" in window.editor.text() and text in window.editor.text(), "the evidence")


def nobody_can_edit_it(window: Workbench) -> None:
    before = window.editor.text()
    window.editor.active.click()
    window.page.keyboard.type("x")
    window.until(lambda: "read-only" in window.hovers.refusal(), "told that it can't be edited")
    assert window.editor.text() == before


def test_documents_come_back_after_a_reload(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    window = started(open_window, server, project(tmp_path / "adder", GOAL))
    window.palette.run("View: Show Done When")
    window.views.expand("Goals", "said.txt")
    window.views.press_row("Goals", "Evidence ")
    window.until(lambda: "# Evidence E" in window.editor.text(), "the evidence")
    name, evidence = window.editor.name(), window.editor.text()
    window.palette.run("View: Keep Editor")
    window.views.wait_tree("Goals", "waiting for your edits")
    window.editor.open("calc.py")
    window.editor.replace_line(2, RIGHT_LINE)
    window.editor.save()
    window.notices.wait_bar(BAR, "1 of 2 met")
    changes_of_an_iteration(window)
    window.palette.run("View: Keep Editor")
    window.palette.run("Done When: Report")
    the_report_is_shown(window)

    window.remembers(name, "calc.py (iteration 1)", "report.md?")  # a page knows what it shows by its uri
    window.reload()
    the_report_is_shown(window)
    window.editor.press_tab("calc.py (iteration 1)")
    window.until(lambda: "return a - b" in "".join(window.editor.sides()[:1]), "as it was before")
    window.until(lambda: RIGHT_LINE in "".join(window.editor.sides()[1:]), "as it was after")
    window.editor.press_tab(name)
    window.until(lambda: window.editor.text() == evidence, "the evidence as it was")
    nobody_can_edit_it(window)

    # Without what is kept of the runs, what they showed says so.
    state = server.folder / "xdg_state_home"
    state.rename(state.with_name("put_aside"))
    window.reload()
    window.editor.press_tab(name)
    window.until(lambda: "This can’t be shown: there is no run" in window.editor.text(), "why it isn't shown")


def changes_of_an_iteration(window: Workbench) -> None:
    window.views.expand("Goals", "Iterations")
    window.views.wait_tree("Goals", "Iteration 1")
    window.views.expand("Goals", "Iteration 1")
    window.views.press_row("Goals", "calc.py")
    window.until(lambda: len(window.editor.sides()) == 2, "a diff editor")


def the_report_is_shown(window: Workbench) -> None:
    page = window.views.webview().locator("body")
    window.until(lambda: "Make add right" in page.inner_text(), "the report as a page")


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

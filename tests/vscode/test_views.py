"""The status bar and the view Goals: what they show of a run, what a click or a key on them does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.scripted_models import calls, says
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, one_by_one
from tests.vscode.site import BAR, RIGHT, TEST, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SECOND = "\n\ndef test_zero():\n    assert add(0, 0) == 0\n"
SKIPPED = f"import pytest\n{TEST}\n\n@pytest.mark.skip\n{SECOND.lstrip()}"
MARK = "asked.txt"
GOAL = """\
---
max_iterations: 2
---
# Make add right

- [ ] `python -m pytest -q` passes
- [ ] `test -f NOTES.md` passes
- [ ] Manuals explain add
- [ ] The code is a pleasure to read
"""


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    settings = models.settings() | {"donewhen.judgeModel": "", "donewhen.judgeApiBase": ""}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), settings) as server:
        yield server


def an_empty_view_says_what_to_do_with_one_button(window: Workbench, folder: Path) -> None:
    window.until(lambda: "No goals here yet" in window.views.welcome(), "the welcome")
    (button,) = window.views.welcome_buttons()
    assert button.inner_text() == "Set Goal"
    button.click()
    window.until(lambda: "Set Goal" in window.palette.title(), "the first question")
    window.palette.dismiss()

    (folder / "GOAL.md").write_text(GOAL, encoding="utf-8")
    assert window.views.wait_tree("Goals", "Make add right") == "Goal Make add right: not started"
    assert window.views.welcome() == ""
    window.notices.press_bar(BAR)
    offered = window.until(window.palette.options, "what can be done")
    assert offered[0].startswith("Start")
    window.palette.dismiss()
    window.views.press_row("Goals", "Make add right")
    window.editor.shown("GOAL.md")


def test_a_run_is_steered_and_read_in_the_view_which_says_at_first_what_to_do(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    (folder / "test_calc.py").write_text(TEST + SECOND, encoding="utf-8")
    models.play(
        worker=one_by_one(
            calls("run_command", command=f"touch {MARK}"),
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("read_file", path="test_calc.py"),
            calls("write_file", path="test_calc.py", content=SKIPPED),
            says("add adds now."),
            says("There is nothing left to do."),
            says("There still is nothing left to do."),
        )
    )
    window = open_window(server, folder)
    window.palette.run("View: Show Done When")
    an_empty_view_says_what_to_do_with_one_button(window, folder)
    window.views.press_row("Goals", "Make add right", "Start")
    window.notices.press_dialog("Start this run?", "Start")
    window.views.wait_tree("Goals", f"touch {MARK}")
    window.notices.wait_bar(BAR, "Goal: iteration 1/2")
    assert "it asks: " in window.notices.bar_label(BAR)
    window.views.press_row("Goals", f"touch {MARK}", "Approve")
    window.until((folder / MARK).exists, "approved and done")
    window.notices.wait_bar(BAR, "2/2 · 1 of 4 met")
    window.until(lambda: "capped" in window.notices.bar_label(BAR), "capped")

    everything_is_there(window)
    the_status_bar_tells_and_offers(window)
    changed_files_open_as_diffs(window)
    evidence_opens_to_be_read(window)
    requirements_are_waived_with_the_keyboard(window)
    a_check_since_leaves_what_can_go_on(window)


def everything_is_there(window: Workbench) -> None:
    for text in (
        "Goal Make add right: capped, 1 of 4 met, iteration 2/2",
        "Requirement 1, met: python -m pytest -q passes",
        "Requirement 2, unmet: test -f NOTES.md passes",
        "Requirement 3, unverified: Manuals explain add",
        "Iterations, 2",
    ):
        window.views.wait_tree("Goals", text)
    said = window.views.aria("Goals")
    assert 'treeitem "Goal Make add right: capped, 1 of 4 met, iteration 2/2" [expanded] [level=1]' in said
    assert 'treeitem "Iterations, 2" [level=2]' in said
    assert "`" not in said


def the_status_bar_tells_and_offers(window: Workbench) -> None:
    tooltip = window.notices.bar_tooltip(BAR, "Make add right")
    for text in ("capped", "iteration 2/2 · 1 of 4 met", "test -f NOTES.md passes (R2)", "cost unknown"):
        assert text in tooltip
    assert "(R1)" not in tooltip
    window.notices.press_bar(BAR)
    offered = window.until(window.palette.options, "what can be done")
    assert [one.split(",")[0] for one in offered[:3]] == ["Resume", "Check Now", "Start"]
    assert window.palette.title() == "Make add right · capped · 1 of 4 met"
    window.palette.dismiss()


def changed_files_open_as_diffs(window: Workbench) -> None:
    window.views.expand("Goals", "Iterations")
    window.views.wait_tree("Goals", "Iteration 1, 1 of 4 met")
    window.views.expand("Goals", "Iteration 1")
    window.views.press_row("Goals", "calc.py")
    window.until(lambda: len(window.editor.sides()) == 2, "a diff editor")
    window.until(lambda: "return a - b" in window.editor.sides()[0], "as it was before")
    window.until(lambda: "return a + b" in window.editor.sides()[1], "as it was after")


def evidence_opens_to_be_read(window: Workbench) -> None:
    window.views.expand("Goals", "Iterations", opened=False)
    window.views.expand("Goals", "python -m pytest -q passes")
    window.views.press_row("Goals", "Evidence ")
    window.until(lambda: "Check `python -m pytest -q`: **passed**" in window.editor.text(), "the evidence")
    window.views.expand("Goals", "python -m pytest -q passes", opened=False)


def requirements_are_waived_with_the_keyboard(window: Workbench) -> None:
    keys = window.page.keyboard
    window.views.press_row("Goals", "Make add right")
    window.views.expand("Goals", "Make add right")
    keys.type("manu")
    window.until(lambda: "Manuals explain add" in window.views.focused("Goals"), "found by its words")
    keys.press("Shift+F10")
    window.until(lambda: {"Waive", "Open Goal"} <= set(window.views.menu()), "the row's menu")
    window.views.pick_menu("Waive")
    window.palette.answer("It is for experts")
    window.views.wait_tree("Goals", "Requirement 3, waived: Manuals explain add")
    window.views.wait_tree("Goals", "1 of 4 met, 1 waived")
    assert "1 of 4 met" in window.notices.bar(BAR)
    window.until(lambda: "1 waived" in window.notices.bar_label(BAR), "said in the status bar")


def a_check_since_leaves_what_can_go_on(window: Workbench) -> None:
    window.views.press_row("Goals", "Make add right")
    window.palette.run("Done When: Check Now")
    window.views.wait_tree("Goals", "Goal Make add right: checked")
    window.notices.press_bar(BAR)
    offered = window.until(window.palette.options, "what can be done")
    assert offered[0].startswith("Resume")
    window.palette.dismiss()
    window.views.press_row("Goals", "Make add right")
    window.page.keyboard.press("Shift+F10")
    window.until(lambda: {"Resume", "Start"} <= set(window.views.menu()), "the row's menu")
    window.views.pick_menu("Resume")
    window.until(lambda: "Iterations at most" in window.palette.title(), "the question for the raised limit")
    window.palette.answer("3")
    window.notices.wait_bar(BAR, "3/3")

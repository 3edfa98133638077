"""Goals without a mouse, and for somebody who listens: each flow with keys alone, and what is said on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripted_models import calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, in_turn
from tests.vscode.site import BAR, OBJECTIVE, PYTEST, RIGHT, RIGHT_LINE, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LICENCE = "---\nworker: human\n---\n# Add a licence\n\n- [ ] `test -f LICENCE` passes\n"
TABBED = """() => {
  const e = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(e);
  const shown = outlineStyle !== 'none' && outlineWidth !== '0px';
  return [e === document.body ? '' : e.getAttribute('role') ?? e.tagName, e.ariaLabel ?? e.textContent, shown];
}"""


@pytest.fixture(scope="module")
def agents(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    settings = {**models.settings(), "donewhen.showTimelineOnStart": "agent"}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), settings) as server:
        yield server


def test_a_goal_is_set_followed_and_proven_with_keys_alone(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    window = open_window(server, folder)
    keys = window.keys
    keys.alone()
    keys.command("Done When: Set Goal")
    window.palette.box.wait_for()
    keys.type(OBJECTIVE)
    keys.press("Enter")
    window.until(lambda: "Set Goal and Start" in keys.entry(), "what Enter does", 60)
    assert "1 check proves it" in keys.entry()
    keys.press("Enter")
    window.editor.shown("GOAL.md")
    window.until(window.editor.marked, "a squiggle", 60)

    # To the squiggle, its hover, and its quick fixes.
    keys.press("Alt+F8")
    window.until(lambda: "failed" in " ".join(window.screen.read(".marker-widget", "e.innerText")), "the problem")
    keys.press("Escape")
    keys.press("Control+K", "Control+I")
    assert "assert -1 == 5" in window.until(lambda: window.hovers.text() or None, "the hover")
    keys.press("Escape")
    fixes = window.hovers.fixes()
    evidence = next(n for n, one in enumerate(fixes) if "vidence" in one)
    keys.press(*["ArrowDown"] * evidence, "Enter")
    window.until(lambda: "**failed**" in window.editor.text(), "the evidence")

    keys.open_file("calc.py")
    window.editor.shown("calc.py")
    keys.press("Control+G")
    window.palette.box.wait_for()
    keys.type("2")
    keys.press("Enter")
    window.until(lambda: not window.palette.open, "at the line")
    keys.press("Home", "Shift+End")
    keys.type(RIGHT_LINE)
    keys.press("Control+S")
    window.notices.wait_bar(BAR, "1 of 1 met", 60)

    # Its end is told in a notification, whose buttons the keys come to.
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    window.notices.wait("Proven: 1 of 1 in", 60)
    keys.command("Notifications: Focus Notification Toast")
    keys.go("Tab", "Copy Receipt")
    keys.press("Enter")
    clipboard = "navigator.clipboard.readText()"
    window.until(lambda: "complete, 1 of 1 proven" in window.page.evaluate(clipboard), "the receipt")
    window.notices.gone("Proven: 1 of 1 in")

    # The status bar, and what it offers.
    keys.go_into("F6", ".statusbar")
    assert "complete, 1 of 1 met" in keys.go("ArrowRight", f"Goal {OBJECTIVE}: ")
    keys.press_until("Enter", lambda: window.palette.open, "what can be done")
    keys.type("Report")
    window.until(lambda: "Report" in keys.entry(), "the report among what can be done")
    keys.press("Enter")
    window.until(lambda: "Report" in window.editor.title() or "report" in window.editor.title(), "the report")
    assert keys.pointed() == 0


def test_the_views_are_walked_through_and_used_with_keys_alone(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", PYTEST)
    window = open_window(server, folder)
    keys = window.keys
    keys.alone()
    window.notices.wait_bar(BAR, "Goal")
    keys.show("Done When: Focus on Goals View")
    assert keys.go("ArrowDown", "Goal Make add right") == "Goal Make add right: not started"
    keys.press("Shift+F10")
    window.until(window.views.menu, "the goal's menu")
    window.views.pick_menu("Check Now")
    window.notices.wait_bar(BAR, "0 of 1 met", 60)

    keys.show("Done When: Focus on Goals View")
    said = keys.go("ArrowDown", "Requirement 1")
    assert said.startswith("Requirement 1, unmet: python -m pytest -q passes. ")
    keys.press("Shift+F10")
    assert {"Open Goal", "Waive"} <= set(window.until(window.views.menu, "the requirement's menu"))
    window.views.pick_menu("Open Goal")
    window.editor.shown("GOAL.md")

    # A place in a file, and the evidence, a level below.
    keys.show("Done When: Focus on Goals View")
    keys.go("ArrowDown", "Requirement 1")
    keys.press("ArrowRight")
    keys.go("ArrowDown", "test_calc.py, line 5: ")
    keys.press("Enter")
    window.editor.shown("test_calc.py")
    keys.show("Done When: Focus on Goals View")
    keys.go("ArrowDown", "Evidence E")
    keys.press("Enter")
    window.until(lambda: "**failed**" in window.editor.text(), "the evidence")

    # Its filter has the focus first.
    keys.command("Testing: Focus on Test Explorer View")
    keys.go_into("Tab", "[role=tree]")
    keys.go("ArrowDown", "Make add right")
    keys.press("ArrowRight")
    assert "Failed" in keys.go("ArrowDown", "R1")

    # Another goal would have to wait: that is asked in a dialog, which nobody overlooks.
    keys.open_file("GOAL.md")
    window.editor.shown("GOAL.md")
    keys.command("Done When: Start")
    window.until(lambda: "Make add right: running" in window.notices.bar_label(BAR), "the first goal running", 60)
    (folder / "licence.goal.md").write_text(LICENCE, encoding="utf-8")
    keys.open_file("licence.goal.md")
    window.editor.shown("licence.goal.md")
    keys.command("Done When: Start")
    asked = window.until(window.notices.dialogs, "the dialog that asks", 60)[0]
    assert "A run of “Make add right” is in progress" in asked
    window.until(lambda: keys.focused() == "Pause It and Start This One", "the button with the focus")
    keys.press("Enter")
    window.until(lambda: "Add a licence: running" in window.notices.bar_label(BAR), "the second goal running")
    assert keys.pointed() == 0


def test_the_walkthrough_needs_no_mouse(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    window = open_window(server, project(tmp_path / "adder"))
    keys = window.keys
    keys.alone()
    keys.command("Welcome: Open Walkthrough...")
    window.palette.box.wait_for()
    keys.type("Reach your first goal")
    window.until(lambda: "Reach your first goal" in keys.entry(), "the walkthrough")
    keys.press("Enter")
    window.page.locator(".getting-started-step").first.wait_for()
    keys.go("Tab", "Start it")
    keys.press("Enter")
    window.page.locator(".getting-started-step.expanded", has_text="Start it").wait_for()
    keys.press("ArrowUp")
    keys.go("Tab", "Set Goal")
    keys.press("Enter")
    window.until(lambda: window.palette.open, "the first step of a goal")
    assert keys.pointed() == 0


def test_an_agent_is_started_answered_and_followed_with_keys_alone(
    agents: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    from tests.vscode.timeline import Timeline

    folder = project(tmp_path / "adder", PYTEST)
    models.play(
        worker=in_turn(
            calls("read_file", path="calc.py"),
            calls("run_command", command="touch ASKED"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    window = open_window(agents, folder)
    keys = window.keys
    keys.alone()
    window.notices.wait_bar(BAR, "Goal")
    keys.open_file("GOAL.md")
    window.editor.shown("GOAL.md")
    keys.command("Done When: Start")
    window.until(window.notices.dialogs, "the dialog that asks for consent", 90)
    assert window.until(lambda: keys.focused() or None, "a button with the focus") == "Start"
    keys.press("Enter")

    # The timeline opens beside the goal; who types goes on typing.
    timeline = Timeline(window)
    timeline.activity.wait_for()
    assert keys.within(".editor-group-container.active .monaco-editor")
    assert window.editor.name() == "GOAL.md"
    window.notices.wait_bar(BAR, "waiting for you", 60)
    assert "it asks: Run " in window.notices.bar_label(BAR)
    heard = timeline.frame.get_by_role("log")
    window.screenshot(tmp_path / "aside.png")

    keys.show("Done When: Focus on Goals View")
    keys.go("ArrowDown", "asks: Run")
    window.until(lambda: "1 question is waiting for you" in window.views.badge("Done When"), "a badge for it")
    keys.go("ArrowDown", "Approve")
    keys.press("Enter")
    window.until((folder / "ASKED").exists, "the approved command run")
    window.notices.wait_bar(BAR, "1 of 1 met", 60)
    window.until(lambda: not window.views.badge("Done When"), "no badge")
    window.until(lambda: "add adds now." in (heard.text_content() or ""), "heard what it reports")
    said = heard.text_content() or ""
    assert "def add" not in said

    # Round the page with Tab: nothing has the focus without showing it.
    keys.command("Done When: Show Timeline")
    timeline.row(1).wait_for()
    timeline.main.wait_for()
    tabbed: dict[str, bool] = {}
    for _ in range(40):
        keys.press("Tab")
        role, name, visible = timeline.evaluate(TABBED)
        if role:
            tabbed[f"{role} {name}"] = visible
    assert [one for one, visible in tabbed.items() if not visible] == []
    for wanted in ("slider", "Show as table", "Iteration 1", "Activity"):
        assert any(wanted in one for one in tabbed), tabbed
    assert keys.pointed() == 0

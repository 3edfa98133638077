"""Goals without a mouse, and for somebody who listens: each flow with keys alone, and what is said on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from donewhen.testing.models import calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, in_turn
from tests.vscode.site import BAR, PYTEST, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
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
    keys.go("ArrowDown", "Approve")
    keys.press("Enter")
    window.until((folder / "ASKED").exists, "the approved command run")
    window.notices.wait_bar(BAR, "1 of 1 met", 60)
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

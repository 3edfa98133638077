"""Following the agent: what it reads, runs, edits and says, as it does it, and a word to it in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.scripted_models import ModelCall, Reply, calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, answers
from tests.vscode.site import BAR, RIGHT, project
from tests.vscode.themes import in_each_theme

if TYPE_CHECKING:
    from tests.vscode.timeline import Timeline
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
# Make add right

- [ ] `python -m pytest -q` passes
"""
HOSTILE = '<img src=x onerror="window.ran = 1"> [Fix it](command:workbench.action.closeWindow)'


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    settings = {**models.settings(), "donewhen.approve": "auto"}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), settings) as server:
        yield server


class Held:
    """An agent that waits for the test before each reply but the first ones; `heard` is what it was told last."""

    def __init__(self, *replies: Reply, free: int) -> None:
        self._replies, self._free = replies, free
        self.go_on = threading.Semaphore(0)
        self.held = threading.Event()
        self.heard: list[str] = []

    def __call__(self, call: ModelCall) -> Reply:
        at = len(answers(call))
        if at >= self._free:
            self.held.set()
            assert self.go_on.acquire(timeout=120)
        self.heard.append(call.messages[-1].text)
        return self._replies[min(at, len(self._replies) - 1)]


def followed(window: Workbench) -> Timeline:
    from tests.vscode.timeline import Timeline

    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "1/10", 60)
    window.palette.run("Done When: Show Timeline")
    timeline = Timeline(window)
    timeline.activity.wait_for()
    return timeline


def test_each_step_is_shown_as_it_happens_in_every_theme_and_a_hint_reaches_the_agent(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    agent = Held(
        calls("read_file", path="calc.py"),
        calls("write_file", path="calc.py", content=f"# {HOSTILE}\n{RIGHT}"),
        calls("run_command", command="seq 1 4000; echo one; echo two; python -m pytest -q; exit 3"),
        calls("list_files"),
        calls("report", state="finished", text=f"add adds now. {HOSTILE}"),
        free=3,
    )
    models.play(worker=agent)
    folder = project(tmp_path / "adder", GOAL)
    window = open_window(server, folder)
    timeline = followed(window)

    # The agent is still at work: nothing of it has ended.
    reads = window.until(lambda: timeline.step("reads"), "read")[-1]
    assert "read calc.py" in reads
    edits = window.until(lambda: [one for one in timeline.step("edits") if "@@ -" in one], "the diff of an edit")[-1]
    assert f"+# {HOSTILE}" in edits
    assert "-    return a - b" in edits
    ran = window.until(lambda: [one for one in timeline.step("runs") if "passed" in one], "what it printed")[-1]
    assert "one\ntwo\n" in ran
    assert "tokens" in timeline.main.inner_text()
    assert timeline.frame.locator("img, b, a, #timeline script").count() == 0
    assert timeline.evaluate("() => window.ran ?? 0") == 0
    it_is_accessible_in_every_theme_and_folded_by_keyboard(window, timeline)

    window.until(agent.held.is_set, "the call that is held")
    window.palette.run("Done When: Send Hint to Worker")
    window.until(lambda: timeline.evaluate("() => document.activeElement.id") == "hint", "the field has the focus")
    window.page.keyboard.type("say it in French")
    window.page.keyboard.press("Enter")
    window.until(lambda: "before its next call to the model" in timeline.main.inner_text(), "when it will be read")
    assert "not read yet" in window.until(lambda: timeline.step("hint"), "the hint")[-1]
    agent.go_on.release(10)
    window.notices.wait_bar(BAR, "1 of 1 met", 60)
    # The reply that was held was asked for before; the next one had the hint.
    window.until(lambda: "your hint, read" in timeline.step("hint")[-1], "read")
    assert agent.heard[-1].endswith("say it in French")
    says = window.until(lambda: timeline.step("reports"), "said")[-1]
    assert HOSTILE in says
    assert any("✓" in one or "passed" in one for one in window.until(lambda: timeline.step("check"), "checked"))

    timeline.frame.locator("li.runs").get_by_role("button", name="Show All").click()
    window.until(lambda: "exit 3 after" in window.editor.text(), "what it printed, in full")

    # What changed since the run began is marked in the file; the folder is under no version control.
    window.editor.open("calc.py")
    marks = window.page.locator(".monaco-editor [class*=dirty-diff-]")
    window.until(lambda: marks.count() > 0, "marks beside the lines that changed")


def it_is_accessible_in_every_theme_and_folded_by_keyboard(window: Workbench, timeline: Timeline) -> None:
    for theme in in_each_theme(window, timeline.evaluate):
        assert (theme, timeline.violations()) == (theme, [])
        assert (theme, [one for one in timeline.contrasts() if one[1] < 4.5]) == (theme, [])
    failed = timeline.frame.locator("li.runs details").first
    failed.locator("summary").focus()
    assert failed.evaluate("e => e.open")
    window.page.keyboard.press("Enter")
    assert not failed.evaluate("e => e.open")
    assert timeline.evaluate("() => document.querySelectorAll('[aria-live], [role=alert], [role=log]').length") == 2

"""The timeline in a real window: by keyboard, in every theme, and with nothing of a worker's but text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.scripted_models import calls, says
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, one_by_one
from tests.vscode.site import BAR, RIGHT, WRONG, project
from tests.vscode.themes import in_each_theme

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
# Make add right

- [ ] `python -m pytest -q` passes
"""
LINK = "[Fix it](command:workbench.action.closeWindow)"
HOSTILE = f'<img src=x onerror="document.body.textContent=1"> <b>done</b> {LINK}'


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), models.settings()) as server:
        yield server


def started(server: CodeServer, opener: Opener, folder: Path) -> Workbench:
    window = opener(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    return window


def test_what_a_worker_says_is_text_in_notification_timeline_and_tooltip(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    from tests.vscode.timeline import Timeline

    folder = project(tmp_path / "adder", "# Make add right\n\n- [ ] `python say.py` passes\n")
    command = f"echo '{HOSTILE}'"
    check = f"import os\nprint({HOSTILE!r})\nraise SystemExit(not os.path.exists('done.txt'))\n"
    (folder / "say.py").write_text(check, encoding="utf-8")
    models.play(
        worker=one_by_one(
            calls("run_command", command=command),
            calls("write_file", path="done.txt", content="done\n"),
            calls("report", state="finished", text=HOSTILE),
        )
    )
    window = started(server, open_window, folder)
    toast = window.notices.wait("command:workbench")
    assert LINK in toast.replace("\u2060", "")
    drawn = window.page.locator(".notifications-toasts .notification-list-item-message")
    assert drawn.locator("img, b").count() == 0
    assert window.notices.links() == ["Approve", "Deny", "More…", "Show"]
    window.notices.press("command:workbench", "Deny")
    window.notices.wait_bar(BAR, "1 of 1 met", 60)

    timeline = Timeline(window).open()
    timeline.expand(1, HOSTILE)
    assert command in timeline.detail(1).inner_text()
    assert timeline.frame.locator("img, b, a, #timeline script").count() == 0

    window.palette.run("View: Show Done When")
    window.views.expand("Goals", "Iterations")
    window.page.locator("[role=treeitem]").filter(has_text=re.compile("^Iteration 1")).first.hover()
    hover = window.page.locator(".monaco-hover:visible").filter(has_text="command:workbench").first
    hover.wait_for()
    assert HOSTILE in " ".join(hover.inner_text().split())
    assert hover.locator("img, b, a").count() == 0
    assert "1 of 1 met" in window.notices.bar_tooltip(BAR, "Make add right")


def test_the_timeline_is_read_with_keys_alone_and_in_every_theme_and_loads_its_own_files_alone(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    models.play(
        worker=one_by_one(
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=WRONG + "\n"),
            says("I believe that it is right."),
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    window = started(server, open_window, project(tmp_path / "adder", GOAL))
    window.notices.wait_bar(BAR, "1 of 1 met", 60)
    it_can_be_used_with_the_keyboard_alone(window, tmp_path)
    window.palette.run("View: Close All Editors")
    it_is_accessible_in_every_theme(window)
    window.palette.run("View: Close All Editors")
    nothing_runs_or_loads_in_it_but_its_own_files(window)


def it_can_be_used_with_the_keyboard_alone(window: Workbench, pictures: Path) -> None:
    from tests.vscode.timeline import Timeline

    timeline = Timeline(window).open()
    # It was opened once all was over, and has what happened before.
    window.until(lambda: "+" in "".join(timeline.step("edits")[-1:]), "what was edited")
    assert "over 2 iterations: the score went from 0 % to 100 %" in timeline.said()
    keys = window.page.keyboard
    timeline.chart.focus()
    assert timeline.chart.get_attribute("aria-valuetext") == "Iteration 2: 100 % · 1 of 1 met"
    keys.press("ArrowLeft")
    assert timeline.chart.get_attribute("aria-valuetext") == "Iteration 1: 0 % · 0 of 1 met"
    assert timeline.frame.locator(".readout").inner_text() == "Iteration 1: 0 % · 0 of 1 met"
    keys.press("Tab")
    assert timeline.focused() == "Show as table"
    keys.press("Enter")
    assert timeline.focused() == "Show as chart"
    assert timeline.frame.get_by_role("row").all_inner_texts() == ["Iteration\tScore", "0\t0 %", "1\t0 %", "2\t100 %"]
    keys.press("Shift+Tab")
    assert timeline.focused() == "Score and cost of the iterations"
    keys.press("Tab")
    keys.press("Enter")

    timeline.chart.focus()
    keys.press("Home")
    assert timeline.chart.get_attribute("aria-valuetext") == "Before the first iteration: 0 % · 0 of 1 met"
    window.screenshot(pictures / "chart-baseline.png")
    keys.press("ArrowRight")
    keys.press("Enter")
    assert timeline.row(1).get_attribute("aria-expanded") == "true"
    assert timeline.focused().startswith("Iteration 1")
    window.until(lambda: "calc.py" in timeline.detail(1).inner_text(), "the iteration in full")
    keys.press("Tab")
    assert timeline.focused() == "python -m pytest -q"
    keys.press("Enter")
    window.until(lambda: "**failed**" in window.editor.text(), "the evidence")
    window.palette.run("View: Close Editor")
    timeline.row(1).wait_for()
    timeline.detail(1).get_by_role("button", name="calc.py").focus()
    keys.press("Enter")
    window.until(
        lambda: window.screen.read(".tabs-container .tab.active", "e.ariaLabel")[0].startswith("calc.py (iteration 1)"),
        "what the iteration changed",
    )


def it_is_accessible_in_every_theme(window: Workbench) -> None:
    from tests.vscode.timeline import Timeline

    timeline = Timeline(window).open()
    timeline.expand(1, "python -m pytest -q")
    timeline.expand(2, "add adds now.")
    for theme in in_each_theme(window, timeline.evaluate):
        timeline.chart.focus()
        assert (theme, timeline.violations()) == (theme, [])
        assert (theme, [one for one in timeline.contrasts() if one[1] < 4.5]) == (theme, [])
        timeline.frame.get_by_role("button", name="Show as table").click()
        assert (theme, timeline.violations()) == (theme, [])
        timeline.frame.get_by_role("button", name="Show as chart").click()


def nothing_runs_or_loads_in_it_but_its_own_files(window: Workbench) -> None:
    from tests.vscode.timeline import Timeline

    timeline = Timeline(window).open()
    policy = timeline.evaluate("() => document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
    parts = dict(part.strip().split(" ", 1) for part in policy.rstrip("; ").split(";"))
    assert parts["default-src"] == "'none'"
    assert set(parts) == {"default-src", "style-src", "script-src"}
    assert parts["script-src"].startswith("'nonce-")
    assert " " not in parts["script-src"]
    assert "unsafe" not in policy
    assert "*" not in parts["style-src"].split()

    loaded = timeline.evaluate("() => performance.getEntriesByType('resource').map(one => one.name)")
    assert sorted(name.rpartition("/dist/")[2] for name in loaded) == ["timeline/page.css", "timeline/page.js"]
    injected = (
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
    )
    assert timeline.evaluate(f"{injected} return window.ran; }}") is None
    other = """name => new Promise(done => {
      const link = document.querySelector('link[rel=stylesheet]').cloneNode();
      link.href = link.href.replace('timeline/page.css', name);
      link.onload = () => done('loaded');
      link.onerror = () => done('refused');
      document.head.append(link);
    })"""
    assert timeline.evaluate(other, "timeline/page.css?again") == "loaded"
    assert timeline.evaluate(other, "extension.js") == "refused"

"""Takes the pictures of the documentation and of the walkthrough from the real workbench, and makes the animation:
`python -m tests.vscode.screenshots [FOLDER]`.

What they show is pursued for real; only the models are played. Needs `.ci/setup-vscode` and the extra `vscode`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, FloatRect

from tests.scripted_models import calls, says
from tests.vscode.animation import animated
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import installed
from tests.vscode.extension import packaged
from tests.vscode.models import Models, one_by_one
from tests.vscode.site import BAR
from tests.vscode.timeline import Timeline
from tests.vscode.workbench import Workbench, browser, opened

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WALKTHROUGH = Path(__file__).parents[2] / "client-vscode" / "walkthrough"
SIZE = (1280, 740)
SCALE = 2
SIDE_BAR = 400
OBJECTIVE = "Export must handle quotes and newlines"
PLAIN = '''\
def to_csv(rows):
    """One line for each row."""
    return "".join(",".join(row) + "\\n" for row in rows)
'''
COMMAS = '''\
def to_csv(rows):
    """One line for each row."""
    return "".join(",".join(quoted(cell) for cell in row) + "\\n" for row in rows)


def quoted(cell):
    return f'"{cell}"' if "," in cell else cell
'''
RIGHT = COMMAS.replace(
    """    return f'"{cell}"' if "," in cell else cell""",
    """    if any(special in cell for special in ',"\\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell""",
)
TESTS = """\
from export import to_csv


def test_commas():
    assert to_csv([["Smith, J.", "3"]]) == '"Smith, J.",3\\n'


def test_quotes():
    assert to_csv([['6" nail']]) == '"6"" nail"\\n'


def test_newlines():
    assert to_csv([["a\\nb", "c"]]) == '"a\\nb",c\\n'
"""
HIDDEN = """
[id="status.host"], [id="status.forwardedPorts"], [id*="keyboardLayout"] { display: none !important; }
"""
GOAL = f"""\
---
max_iterations: 5
---
# {OBJECTIVE}

Exports must open in a spreadsheet without a repair prompt.

- [ ] `python -m pytest -q` passes
- [ ] `grep -q -- --csv README.md` passes
- [ ] `test -f CHANGELOG.md` passes
"""


def exporter(folder: Path, goal: str | None = None) -> Path:
    """A project whose exporter forgets to quote."""
    folder.mkdir(parents=True)
    files = {"export.py": PLAIN, "test_export.py": TESTS, "README.md": "# Exporter\n", "GOAL.md": goal,
             "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider -p no:asyncio\n"}  # fmt: skip
    for name, text in files.items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


class Film:
    """What a window shows at the steps of a flow, one after the other."""

    def __init__(self, window: Workbench) -> None:
        self._window = window
        self._frames: list[tuple[bytes, int]] = []

    def take(self, shown: int) -> None:
        """`shown` is how long this frame is looked at, in milliseconds."""
        self._frames.append((self._window.page.screenshot(scale="css"), shown))

    def save(self, target: Path) -> None:
        target.write_bytes(animated(self._frames))


def detail(window: Workbench, target: Path, place: str, width: int, height: int) -> None:
    """A part of the window, from the upper left corner of an element on, at most as large as that."""
    box = window.page.locator(place).first.bounding_box()
    assert box is not None, place
    clip = FloatRect(x=box["x"], y=box["y"], width=min(width, box["width"]), height=min(height, box["height"]))
    target.parent.mkdir(parents=True, exist_ok=True)
    window.page.screenshot(path=str(target), clip=clip)


def by_hand(window: Workbench, images: Path, steps: Path, folder: Path) -> None:
    """A person sets the goal, starts it, and repairs what is underlined."""
    arrange(window)
    film = Film(window)
    window.editor.open("test_export.py")
    window.palette.run("Done When: Set Goal")
    window.palette.answer(OBJECTIVE)
    window.until(lambda: any("fails now" in one for one in window.palette.options()), "how the check stands")
    window.screenshot(images / "set-goal.png")
    detail(window, steps / "set.png", ".quick-input-widget", 620, 420)
    film.take(2500)
    window.palette.pick("Only Draft the Goal")  # so that the lens that starts it is in the picture
    window.editor.shown("GOAL.md")
    window.until(lambda: OBJECTIVE in window.editor.text(), "drafted")
    window.until(lambda: any("Start" in lens for lens in window.editor.lenses()), "a lens that starts it")
    detail(window, steps / "start.png", ".editor-group-container.active", 620, 300)
    film.take(2500)
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of")
    settled(window, "Unmet", "Pause")
    window.palette.run("View: Show Done When")
    hover(window, images)
    detail(window, steps / "see.png", ".editor-group-container.active", 620, 420)
    window.page.mouse.move(2, 2)
    window.palette.run("View: Split Editor Right")
    window.editor.open("test_export.py")
    window.until(lambda: len(window.editor.marked()) == 3, "three squiggles")
    window.views.wait_problem("test_quotes")
    window.views.wait_tree("Goals", "waiting for your edits")
    window.page.mouse.move(2, 2)
    window.screenshot(images / "running.png")
    film.take(3500)
    (folder / "export.py").write_text(RIGHT, encoding="utf-8")
    window.until(lambda: not window.editor.marked(), "no squiggle")
    film.take(4000)
    film.save(images / "first-goal.png")


def hover(window: Workbench, images: Path) -> None:
    """Over the requirement that the tests of the project decide."""
    box = window.editor.active.locator(".view-line").filter(has_text="pytest").first.bounding_box()
    assert box is not None
    window.page.mouse.move(box["x"] + 150, box["y"] + box["height"] / 2)
    window.page.locator(".monaco-hover:visible").filter(has_text="test_quotes").first.wait_for()
    window.screenshot(images / "hover.png")


def arrange(window: Workbench) -> None:
    """A side bar in which rows are not cut, and nothing that belongs to the browser rather than to VS Code."""
    window.page.add_style_tag(content=HIDDEN)
    bar = window.page.locator(".part.sidebar").bounding_box()
    assert bar is not None
    sashes = window.screen.read(
        ".monaco-sash.vertical", "[e.getBoundingClientRect().x, e.getBoundingClientRect().width]"
    )
    edge = bar["x"] + bar["width"]
    x = min((left + width / 2 for left, width in sashes), key=lambda at: abs(at - edge))
    y = bar["y"] + bar["height"] / 3
    window.page.mouse.move(x, y)
    window.page.mouse.down()
    window.page.mouse.move(x + 10, y)
    window.page.mouse.move(bar["x"] + SIDE_BAR, y)
    window.page.mouse.up()
    window.page.mouse.move(2, 2)


def settled(window: Workbench, *wanted: str) -> None:
    """Until the lenses of the goal file say all of this: they follow some moments after the status bar."""

    def shown() -> bool:
        lenses = window.editor.lenses()
        found = all(any(text in lens for lens in lenses) for text in wanted)
        return found and not any("being proven" in lens for lens in lenses)

    window.until(shown, f"lenses: {wanted}")


def by_agent(window: Workbench, images: Path, steps: Path, models: Models) -> None:
    """An agent pursues the goal in four iterations, and asks once."""
    models.play(
        worker=one_by_one(
            calls("report", state="finished", text="The exporter joins cells with commas. I look at its tests next."),
            calls("read_file", path="export.py"),
            calls("write_file", path="export.py", content=COMMAS),
            says("Cells with commas are quoted now."),
            calls("run_command", command="git push origin main"),
            calls("write_file", path="CHANGELOG.md", content="# Changes\n\n- Cells are quoted.\n"),
            calls("read_file", path="README.md"),
            calls("write_file", path="README.md", content="# Exporter\n\n`--csv FILE` writes a spreadsheet.\n"),
            says("The change is on record, and the README tells of --csv."),
            calls("read_file", path="export.py"),
            calls("write_file", path="export.py", content=RIGHT),
            calls("report", state="finished", text="Quotes and newlines are handled as well."),
        )
    )
    arrange(window)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("View: Show Done When")
    window.editor.open("GOAL.md")
    window.palette.run("Done When: Start")
    window.until(window.notices.dialogs, "the dialog that asks for consent")
    window.screenshot(images / "consent.png")
    window.notices.press_dialog("Start this run?", "Start")
    window.notices.wait("git push")
    window.views.wait_tree("Goals", "git push")
    settled(window, "Unmet · Evidence")
    window.screenshot(images / "interrupt.png")
    detail(window, steps / "worker.png", ".part.sidebar", 620, 200)
    window.notices.press("git push", "Deny")
    window.notices.wait_bar(BAR, "3 of 3 met", 90)
    window.editor.wait_marked()
    window.views.wait_tree("Goals", "every requirement is proven")
    window.notices.wait("Proven: 3 of 3 in")
    settled(window, "Met · Evidence", "Start")
    window.views.expand("Goals", "Iterations")
    window.screenshot(images / "complete.png")
    window.notices.ignore("Proven: 3 of 3 in")
    window.palette.run("Done When: Show Timeline")
    timeline = Timeline(window)
    timeline.row(4).wait_for()
    timeline.expand(3, "README.md")
    timeline.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    window.page.mouse.move(2, 2)
    window.screenshot(images / "timeline.png")
    window.palette.run("Preferences: Color Theme")
    window.palette.pick("Dark Modern")
    dark = "() => document.body.dataset.vscodeThemeKind === 'vscode-dark'"
    window.until(lambda: timeline.evaluate(dark), "a dark theme")
    timeline.chart.focus()
    window.page.keyboard.press("ArrowLeft")
    bar = ".statusbar-item"
    window.until(lambda: not any("Activating" in text for text in window.screen.read(bar, "e.innerText")), "at rest")
    window.screenshot(images / "timeline-dark.png")


def hide_noise(server: CodeServer) -> None:
    """What belongs to the browser, not to the extension."""
    server.configure({"workbench.activityBar.location": "default", "workbench.layoutControl.enabled": False,
                      "explorer.openEditors.visible": 0, "breadcrumbs.enabled": False, "editor.fontSize": 13,
                      "editor.renderLineHighlight": "none"})  # fmt: skip


def take(images: Path, steps: Path, chrome: Browser, folder: Path) -> None:
    models, vsix = Models(), packaged()
    with installed(vsix, folder / "one", {}) as server:
        hide_noise(server)
        project = exporter(folder / "exporter")
        with opened(chrome, server, project, SIZE, SCALE) as window:
            by_hand(window, images, steps, project)
    with models.served:
        settings = models.settings() | {"donewhen.judgeModel": "", "donewhen.judgeApiBase": ""}
        with installed(vsix, folder / "two", settings) as server:
            hide_noise(server)
            with opened(chrome, server, exporter(folder / "by-agent" / "exporter", GOAL), SIZE, SCALE) as window:
                by_agent(window, images, steps, models)


def main(images: Path, steps: Path) -> None:
    images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dws-") as name, browser() as chrome:
        take(images, steps, chrome, Path(name))
    for picture in sorted([*images.glob("*.png"), *steps.glob("*.png")]):
        print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    elsewhere = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    main(elsewhere or IMAGES, elsewhere / "walkthrough" if elsewhere else WALKTHROUGH)

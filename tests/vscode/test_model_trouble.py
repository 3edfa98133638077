"""A model that doesn't answer: it is said within seconds, wherever a person looks, and a button repairs it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripted_models import ModelCall, Reply, calls, fails
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, Part, in_turn
from tests.vscode.site import BAR, PYTEST, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
BUSY = "the model answers 429"
PAUSED = "model unreachable"
READING = r"thinking \(reading [\d,]+ tokens\), \d+ s"


@pytest.fixture(scope="module")
def server(vsix: Path, models: Models, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    settings = {**models.settings(), "donewhen.judgeModel": "", "donewhen.judgeApiBase": ""}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), settings) as server:
        yield server


def test_what_it_says_is_shown_while_it_is_asked_again_and_a_button_lets_the_run_go_on(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", f"---\nworker: agent\n---\n{PYTEST}")
    read = threading.Event()
    models.play(worker=reading_until(read, fails(429, "Rate limit reached")))
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("View: Show Done When")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    window.palette.run("Done When: Show Timeline")
    timeline = window.views.webview().locator("body")
    window.notices.wait_bar(BAR, READING, 20)
    window.until(lambda: re.search(READING, timeline.inner_text()), "the same in the timeline")
    window.until(lambda: any(re.search(READING, one) for one in window.views.tree("Goals")), "the same in the view")
    window.screenshot(tmp_path / "reading.png")

    read.set()
    window.notices.wait_bar(BAR, f"{BUSY}, trying again", 20)
    window.until(lambda: BUSY in timeline.inner_text(), "the same in the timeline")
    window.views.wait_tree("Goals", BUSY)
    window.screenshot(tmp_path / "busy.png")

    models.play(worker=fails_always(401, "No such key"))
    window.notices.wait_bar(BAR, PAUSED, 60)
    window.views.wait_tree("Goals", f"Goal Make add right: {PAUSED}")
    told = window.notices.wait("is paused")
    assert "No such key" in told
    assert "--" not in told
    assert "API_KEY" not in told
    window.editor.open("GOAL.md")
    window.editor.wait_lens("Model unreachable · Set API key… | Resume")
    window.screenshot(tmp_path / "paused.png")

    models.play(
        worker=in_turn(
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    window.notices.press("is paused", "Set API Key…")
    window.palette.answer("sk-the-right-one")
    window.notices.wait("is complete", 60)
    assert (folder / "calc.py").read_text() == RIGHT


def reading_until(read: threading.Event, reply: Reply) -> Part:
    """Says nothing until the prompt is `read`."""

    def part(call: ModelCall) -> Reply:
        assert read.wait(60)
        return reply

    return part


def fails_always(status: int, said: str) -> Part:
    return lambda call: fails(status, said)

"""The models that the editor offers, here by another extension: chosen like any other, they work and judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.site import judge_says
from tests.scripted_models import calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, Part, in_turn
from tests.vscode.packages import offering_extension
from tests.vscode.site import BAR, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
---
worker: agent
---
# Make add right

- [ ] `python -m pytest -q` passes
- [ ] add is written as a sum
  - file: `calc.py`
"""


SETTINGS = {"donewhen.approve": "ask", "donewhen.sandbox": "off"}


@pytest.fixture(scope="module")
def offering(tmp_path_factory: pytest.TempPathFactory, models: Models) -> Path:
    return offering_extension(tmp_path_factory.mktemp("offering") / "offering.vsix", models.served.base_url)


@pytest.fixture(scope="module")
def server(vsix: Path, offering: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), SETTINGS) as server:
        server.install(offering)
        yield server


def repairing() -> Part:
    return in_turn(
        calls("read_file", path="calc.py"),
        calls("write_file", path="calc.py", content=RIGHT),
        calls("report", state="finished", text="add adds now."),
    )


def test_an_editors_models_are_chosen_then_one_repairs_and_the_other_judges(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    models.play(worker=repairing(), judge=judge_says("met"))
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Choose Models")
    window.until(lambda: len(window.palette.options()) == 3, "both models, and any other")
    window.screenshot(tmp_path / "models.png")
    window.palette.pick("Scripted worker")
    window.palette.pick("Scripted judge")
    kept = "models: editor/scripted/worker, judge editor/scripted/judge"
    window.until(lambda: any(kept in text for text in server.logs().values()), "kept: both models")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    assert "cost unknown" in window.views.webview().locator("#timeline").inner_text()
    window.notices.wait("“Make add right” is complete", 60)
    assert (folder / "calc.py").read_text() == RIGHT
    asked = {one.body["model"] for one in models.served.requests}
    assert asked == {"worker", "judge"}

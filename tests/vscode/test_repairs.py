"""Each button that repairs a run that stands still: shown at its bad end, pressed, and what it promises happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.scripted_models import calls, fails
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, Part, one_by_one
from tests.vscode.site import BAR, HUMAN, RIGHT, WRONG, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
IDLE = calls("report", state="finished", text="Nothing to do.")
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def server(vsix: Path, models: Models, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    settings = {**models.settings(), "donewhen.apiBase": NOWHERE}
    settings |= {"donewhen.judgeModel": "", "donewhen.judgeApiBase": ""}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), settings) as server:
        yield server


def goal(title: str, front: str = "") -> str:
    return f"---\nworker: agent\n{front}---\n# {title.capitalize()}\n\n- [ ] `python -m pytest -q` passes\n"


def begin(window: Workbench, folder: Path, name: str, front: str = "") -> None:
    (folder / "calc.py").write_text(WRONG, encoding="utf-8")
    (folder / f"{name}.goal.md").write_text(goal(name, front), encoding="utf-8")
    window.editor.open(f"{name}.goal.md")
    window.editor.wait_lens("Start")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")


def play(models: Models, part: Part) -> None:
    """For whichever model was chosen by then."""
    models.play(worker=part, other=part)


def proven(window: Workbench, folder: Path, title: str) -> None:
    window.notices.wait(f"“{title}” is complete", 60)
    assert (folder / "calc.py").read_text() == RIGHT
    window.notices.close(f"“{title}” is complete")


def repairing() -> Part:
    return one_by_one(
        calls("read_file", path="calc.py"),
        calls("write_file", path="calc.py", content=RIGHT),
        calls("report", state="finished", text="add adds now."),
    )


def test_each_button_does_what_it_promises_for_a_run_that_stands_still(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    """One window for all; each button has a goal of its own."""
    folder = project(tmp_path / "adder")
    (folder / "address.goal.md").write_text(goal("address"), encoding="utf-8")
    window = open_window(server, folder)
    an_address_is_set_and_the_run_asks_there(window, folder, models)
    another_model_is_chosen_and_a_new_run_begins_with_it(window, folder, models)
    a_key_is_set_and_the_run_goes_on(window, folder, models)
    a_limit_is_raised(window, folder, models)
    a_goal_file_that_is_gone_is_put_back(window, folder)
    where_support_is_not_installed_from_here_it_says_what_does_help(window, folder, models)


def an_address_is_set_and_the_run_asks_there(window: Workbench, folder: Path, models: Models) -> None:
    models.play(worker=repairing())
    begin(window, folder, "address")
    told = window.notices.wait("“Address” is paused", 60)
    assert "can't be reached" in told
    assert "\nTry Again\nSet Address…\nChoose Another Model…\n“Address”" in told
    window.screenshot(folder.parent / "address.png")
    window.notices.press("“Address” is paused", "Set Address…")
    window.palette.answer(models.served.base_url)
    proven(window, folder, "Address")


def another_model_is_chosen_and_a_new_run_begins_with_it(window: Workbench, folder: Path, models: Models) -> None:
    models.play(worker=lambda call: fails(404, "The model `worker` does not exist"), other=repairing())
    begin(window, folder, "model")
    window.notices.wait("“Model” is paused", 60)
    first = "Model unreachable · Choose another model…"
    window.editor.wait_lens(f"{first} | Resume | Check now")
    window.screenshot(folder.parent / "model.png")
    window.editor.press_lens(first)
    window.palette.answer("openai/other")
    window.until(lambda: "(2/2)" in window.palette.title(), "the question for the judge's model")
    window.palette.answer("")
    window.notices.press_dialog("Start this run?", "Start")
    proven(window, folder, "Model")


def a_key_is_set_and_the_run_goes_on(window: Workbench, folder: Path, models: Models) -> None:
    play(models, lambda call: fails(401, "No such key"))
    begin(window, folder, "key")
    told = window.notices.wait("“Key” is paused", 60)
    assert "No such key" in told
    # Nothing of a command line or of an environment, which nobody has here.
    assert "--" not in told
    assert "API_KEY" not in told
    window.editor.wait_lens("Model unreachable · Set API key… | Resume")
    play(models, repairing())
    window.notices.press("“Key” is paused", "Set API Key…")
    window.palette.answer("sk-the-right-one")
    proven(window, folder, "Key")


def a_limit_is_raised(window: Workbench, folder: Path, models: Models) -> None:
    play(models, lambda call: IDLE)
    begin(window, folder, "limit", "max_iterations: 1\n")
    window.notices.wait("“Limit” ended with", 60)
    play(models, repairing())
    window.editor.wait_lens("Capped · Raise the limit… | Start")
    window.screenshot(folder.parent / "limit.png")
    window.notices.press("“Limit” ended with", "Raise the Limit…")
    window.palette.accept()
    proven(window, folder, "Limit")


def a_goal_file_that_is_gone_is_put_back(window: Workbench, folder: Path) -> None:
    (folder / "calc.py").write_text(WRONG, encoding="utf-8")
    text = HUMAN.replace("Make add right", "File")
    file = folder / "file.goal.md"
    file.write_text(text, encoding="utf-8")
    window.editor.open(file.name)
    window.editor.wait_lens("Start")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 2 met")
    (folder / "NOTES.md").write_text("added\n", encoding="utf-8")
    window.notices.wait_bar(BAR, "1 of 2 met")
    file.unlink()
    assert "donewhen revert" not in window.notices.wait("“File” is paused")
    window.editor.wait_lens("Paused · Put it back | Resume")
    window.screenshot(folder.parent / "file.png")
    window.notices.press("“File” is paused", "Put It Back")
    window.until(file.exists, "the goal file back")
    assert file.read_text(encoding="utf-8") == text
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    proven(window, folder, "File")


def where_support_is_not_installed_from_here_it_says_what_does_help(
    window: Workbench, folder: Path, models: Models
) -> None:
    play(models, lambda call: fails(500, "No module named 'boto3'"))
    begin(window, folder, "support")
    window.notices.press("“Support” is paused", "Install Model Support", 60)
    told = window.notices.wait("Your settings name the program that runs Done When")
    assert "Use an Environment of Its Own" in told
    assert "donewhen doctor" not in told
    window.screenshot(folder.parent / "support.png")

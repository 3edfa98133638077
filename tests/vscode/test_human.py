"""A person as the worker: from the palette to a goal that is complete, with nothing but the keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.scripted_models import calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, in_turn
from tests.vscode.site import ASSERTION, BAR, OBJECTIVE, RIGHT, RIGHT_LINE, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_goal_set_in_the_palette_is_watched_until_it_is_complete(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    window = open_window(server, folder)
    window.palette.run("Done When: Set Goal")
    window.palette.answer(OBJECTIVE)
    window.until(lambda: offered(window, "python -m pytest -q", "fails now: 1 of 1 test failed"), "how it stands")
    assert offered(window, "You", "chosen")
    assert offered(window, "Set Goal and Start", "1 check proves it")
    window.palette.accept()

    # It starts by itself: a person at work needs no consent.
    window.editor.shown("GOAL.md")
    window.notices.wait_bar(BAR, "0 of 1 met")
    window.editor.wait_marked("`python -m pytest -q` passes")
    drafted = (folder / "GOAL.md").read_text()
    assert drafted.startswith(f"---\nworker: human\n---\n# {OBJECTIVE}\n\n- [ ] `python -m pytest -q` passes\n")
    assert "<!--" not in drafted
    assert not window.notices.toasts()
    window.editor.open("test_calc.py")
    window.editor.wait_marked(ASSERTION)
    window.views.wait_problem("test_add: assert -1 == 5", "line 5")

    window.editor.open("calc.py")
    window.editor.replace_line(2, RIGHT_LINE)
    window.editor.save()
    window.notices.wait_bar(BAR, "1 of 1 met")
    window.until(lambda: not window.views.problems(), "without problems")


def test_what_is_likely_is_proposed_so_that_enter_twice_is_enough(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/fix/sums-of-negatives\n", encoding="utf-8")
    (folder / "notes.py").write_text("# TODO: say what add does\n", encoding="utf-8")
    window = open_window(server, folder)
    window.editor.open("notes.py")
    window.palette.run("Done When: Set Goal")
    window.until(lambda: offered(window, "Say what add does", "the comment at the cursor"), "the comment")
    assert offered(window, "Fix sums of negatives", "the branch fix/sums-of-negatives")
    failing = "Make `python -m pytest -q` pass"
    window.until(lambda: failing in window.palette.options()[0], "the test that fails first")
    window.palette.accept()
    window.until(lambda: offered(window, "Set Goal and Start", "1 check proves it"), "the second step")
    window.palette.accept()
    window.editor.shown("GOAL.md")
    window.editor.wait_marked("`python -m pytest -q` passes")
    assert f"# {failing}\n" in (folder / "GOAL.md").read_text()


def test_a_check_is_added_and_another_left_out_before_the_goal_is_set(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    window = open_window(server, folder)
    window.palette.run("Done When: Set Goal")
    window.palette.answer(OBJECTIVE)
    window.until(lambda: offered(window, "python -m pytest -q", "passes now"), "a check that passes")
    # A run of it would be complete at once, and show nothing.
    assert offered(window, "Set Goal", "all checks pass already: add one that fails until it is done")
    assert not offered(window, "Start")
    window.palette.answer("test -f NOTES.md")
    window.until(lambda: offered(window, "Set Goal and Start", "2 checks prove it"), "the check that was typed")
    window.palette.pick("python -m pytest -q")
    window.until(lambda: offered(window, "python -m pytest -q", "left out"), "left out")
    window.palette.pick("Only Draft the Goal")
    window.editor.shown("GOAL.md")
    window.until((folder / "GOAL.md").exists, "saved")
    drafted = (folder / "GOAL.md").read_text()
    assert "- [ ] `test -f NOTES.md` passes\n" in drafted
    assert "python -m pytest" not in drafted
    window.until(lambda: "Start" in window.editor.actions(), "a button that starts it")


def test_without_any_check_the_draft_has_one_to_be_filled_in(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    window = open_window(server, folder)
    window.palette.run("Done When: Set Goal")
    window.palette.answer(OBJECTIVE)
    window.until(lambda: offered(window, "Set Goal", "no check yet"), "that there is no check")
    window.palette.accept()
    window.editor.shown("GOAL.md")
    window.editor.wait_marked("check:")
    window.page.keyboard.type(" `test -f NOTES.md`")
    window.editor.save()
    window.editor.wait_marked()
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "0 of 1 met")
    (folder / "NOTES.md").write_text("here\n", encoding="utf-8")
    window.notices.wait_bar(BAR, "1 of 1 met")


def test_a_goal_for_an_agent_is_drafted_before_anything_else_is_asked(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    window = open_window(server, folder)
    window.palette.run("Done When: Set Goal")
    window.palette.answer(OBJECTIVE)
    window.until(lambda: offered(window, "python -m pytest -q"), "the detected check")
    window.palette.pick("The built-in agent")
    window.until(lambda: offered(window, "Set Goal", "The built-in agent; 1 check proves it"), "the worker")
    window.palette.accept()
    window.until(lambda: (folder / "GOAL.md").exists(), "a goal file while the model is asked for")
    window.until(lambda: "worker: agent" in (folder / "GOAL.md").read_text(), "with the worker that was picked")

    # The key is a step, not a notification that hides by itself.
    window.until(lambda: "built-in agent" in window.palette.title(), "the question for its model")
    window.palette.answer("anthropic/claude-sonnet-4-5")
    window.until(lambda: "API key for Anthropic" in window.palette.title(), "the question for the key")
    window.palette.dismiss()
    assert not window.notices.toasts()


def test_a_goal_for_an_agent_goes_on_to_its_consent_once_the_model_is_named(
    vsix: Path, open_window: Opener, models: Models, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder")
    models.play(
        worker=in_turn(
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    served = {"donewhen.apiBase": models.served.base_url, "donewhen.showTimelineOnStart": "never"}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), served) as server:
        window = open_window(server, folder)
        window.palette.run("Done When: Set Goal")
        window.palette.answer(OBJECTIVE)
        window.until(lambda: offered(window, "python -m pytest -q"), "the detected check")
        window.palette.pick("The built-in agent")
        window.until(
            lambda: offered(window, "Set Goal and Start", "The built-in agent; 1 check proves it"), "the worker"
        )
        window.palette.accept()
        # Nothing is asked that this goal doesn't need: what it is done by decides a check, and no judge.
        window.until(lambda: "built-in agent" in window.palette.title(), "the question for its model")
        window.palette.answer("openai/worker")
        asked = window.until(window.notices.dialogs, "the consent", 90)[0]
        assert "Start this run?" in asked
        assert "openai/worker" in asked
        window.notices.press_dialog("Start this run?", "Start")
        window.notices.wait_bar(BAR, "1 of 1 met", 90)
        assert (folder / "calc.py").read_text() == RIGHT


def offered(window: Workbench, *parts: str) -> bool:
    """Whether the picker has an entry that holds all of these."""
    return any(all(part in option for part in parts) for option in window.palette.options())

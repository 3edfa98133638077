"""The palette: what each command says where there is nothing to do, and what it does to the person's own work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripted_models import ModelCall, Reply, calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, one_by_one
from tests.vscode.site import BAR, PYTEST, RIGHT, WRONG, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ONCE = f"---\nmax_iterations: 1\n---\n{PYTEST}"


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), models.settings()) as server:
        yield server


def test_what_can_not_be_done_is_said(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    window = open_window(server, None)
    for title in ("Set Goal", "Start", "Check Now"):
        window.palette.run(f"Done When: {title}")
        assert "Open Folder" in window.notices.wait("A goal belongs to a folder.")
        window.notices.close("A goal belongs to a folder.")

    window = open_window(server, project(tmp_path / "adder"))
    for title in ("Start", "Check Now"):
        window.palette.run(f"Done When: {title}")
        assert "Set Goal" in window.notices.wait("There is no goal file here yet.")
        window.notices.close("There is no goal file here yet.")
    offered = " ".join(window.palette.commands("Done When: "))
    for title in ("Pause", "Resume", "Stop", "Answer", "Report", "Revert", "Waive", "Timeline"):
        assert title not in offered

    window.palette.run("Done When: Choose Models")
    window.palette.answer("no provider")
    assert "provider/name" in window.palette.message()
    window.palette.dismiss()
    window.palette.run("Done When: Restart Server")
    window.palette.run("Done When: Show Logs")
    window.until(lambda: "Done When" in window.views.output(), "the log")


def test_unsaved_edits_stay_and_edits_since_go_back_only_by_force(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", ONCE)
    told: list[str] = []
    replies = one_by_one(
        calls("read_file", path="calc.py"),
        calls("write_file", path="calc.py", content=RIGHT),
        calls("report", state="finished", text="I could not write it."),
    )

    def worker(call: ModelCall) -> Reply:
        told.append(call.last.text)
        return replies(call)

    models.play(worker=worker)
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    window.editor.open("calc.py")
    window.editor.replace_line(2, "return 7  # mine")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    assert "capped" in window.notices.wait("ended with ")
    assert "unsaved" in told[2]
    assert "return 7  # mine" in window.editor.text()
    assert (folder / "calc.py").read_text() == WRONG

    models.play(
        worker=one_by_one(
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    window.palette.run("File: Revert File")
    window.notices.press("(capped)", "Raise the Limit…")
    window.palette.answer("2")
    window.notices.wait("is complete")
    window.until(lambda: "return a + b" in window.editor.text(), "what the worker wrote")
    window.editor.replace_line(2, "return b + a  # mine")
    window.editor.save()
    window.palette.run("Done When: Revert to Iteration")
    window.palette.pick("Iteration 1")
    assert "calc.py" in window.notices.wait("Kept, since you edited them")
    assert "# mine" in (folder / "calc.py").read_text()
    window.notices.press("Kept, since you edited them", "Revert Them Too")
    window.until(lambda: (folder / "calc.py").read_text() == WRONG, "as it was after iteration 1")
    window.until(lambda: "return a - b" in window.editor.text(), "that in the editor")

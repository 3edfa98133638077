"""What waits for a person: shown as it is, answered in a notification, in an editor or elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.scripted_models import ModelCall, Reply, calls, calls_all, tool
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, in_turn, one_by_one
from tests.vscode.site import BAR, PYTEST, RIGHT, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
DECEIVING = "echo [Docs](command:workbench.action.toggleSidebarVisibility) $(bell) \u202etxt.hs"
LINES = "touch ONE\ntouch TWO"
TASKS = ".vscode/tasks.json"


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), models.settings()) as server:
        yield server


def begin(window: Workbench) -> None:
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")


def test_what_is_asked_is_shown_as_it_is_and_what_is_approved_is_done(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", PYTEST)
    models.play(
        worker=in_turn(
            calls("run_command", command=DECEIVING),
            calls("run_command", command="touch APPROVED"),
            calls("write_file", path=TASKS, content='{"version": "2.0.0"}\n'),
            calls_all(tool("run_command", command=LINES), text="Two files are missing."),
            calls("read_file", path="calc.py"),
            calls("write_file", path="calc.py", content=RIGHT),
            calls("report", state="finished", text="add adds now."),
        )
    )
    window = open_window(server, folder)
    begin(window)
    told = window.notices.wait("echo [Docs]")
    assert "$(bell) \ufffdtxt.hs" in told
    # What the worker wrote made no link: these are the choices.
    assert window.notices.links() == ["Approve", "Deny", "More…", "Show"]
    window.notices.press("echo [Docs]", "Deny")

    window.notices.press("touch APPROVED", "Approve")
    window.until((folder / "APPROVED").exists, "the approved command run")

    assert "(1 line added, 0 removed)" in window.notices.wait(TASKS)
    window.notices.press(TASKS, "Show")
    window.until(lambda: "tasks.json (asked for)" in window.editor.title(), "the diff editor")
    window.until(lambda: window.editor.compared() == ("", '{"version": "2.0.0"}\n'), "what would be written")
    assert not (folder / TASKS).exists()
    window.notices.press(TASKS, "Approve")
    window.until((folder / TASKS).exists, "the file written")
    window.until(lambda: "asked for" not in window.editor.title(), "the diff closed")

    assert "touch ONE ⏎ touch TWO" in window.notices.wait("touch ONE")
    window.notices.press("touch ONE", "Show")
    window.until(lambda: window.editor.lines()[3:5] == LINES.split("\n"), "the command as it is")
    shown = "\n".join(window.editor.lines())
    assert f"# In {folder}" in shown
    assert "# The worker says: Two files are missing." in shown
    assert "# Just before, it wrote .vscode/tasks.json" in shown
    window.screenshot(tmp_path / "asked-command.png")
    window.notices.press("touch ONE", "More…")
    window.palette.pick("Edit")
    window.notices.wait("as it stands in the editor")
    window.editor.replace_line(2, "touch EDITED")
    window.notices.press("as it stands in the editor", "Run It")
    window.until((folder / "EDITED").exists, "the edited command run")
    assert (folder / "ONE").exists()
    assert not (folder / "TWO").exists()

    assert "Proven: 1 of 1 in" in window.notices.wait("is complete")
    window.palette.run("Done When: Report")
    report = window.views.webview()
    window.until(lambda: "python -m pytest -q" in report.locator("body").inner_text(), "the report as a page")
    assert report.locator("h2", has_text="Make add right").count() == 1


def both(tmp_path: Path) -> tuple[Path, list[Path]]:
    """A workspace with a goal in each of its two folders, and the folders."""
    names = ("north", "south")
    folders = [project(tmp_path / name, PYTEST.replace("Make add right", f"Go {name}")) for name in names]
    workspace = tmp_path / "both.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": str(folder)} for folder in folders]}), encoding="utf-8")
    return workspace, folders


def answer_one_at_a_time(window: Workbench, answers: dict[str, str]) -> None:
    """Presses the button that belongs to each question, in the order in which they are told."""
    left = dict(answers)

    def asked() -> str | None:
        toasts = window.notices.toasts()
        found = [text for text in left for toast in toasts if text in toast]
        assert len(found) <= 1, f"told at the same time: {toasts}"
        return found[0] if found else None

    while left:
        text = window.until(asked, f"one of {list(left)}")
        window.notices.press(text, left.pop(text))


def test_of_what_two_runs_ask_one_is_told_at_a_time(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    workspace, folders = both(tmp_path)
    # The judge has no part: what the worker claims is for a person.
    models.play(
        worker=in_turn(
            calls("run_command", command="touch ASKED"),
            calls("report", state="blocked", text="there is no key"),
        )
    )
    window = open_window(server, workspace)
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("View: Show Done When")
    for name in ("north", "south"):
        window.palette.run("Done When: Start")
        window.palette.pick(name)
        window.notices.press_dialog("Start this run?", "Start")
        window.views.wait_tree("Goals", f"Go {name} asks: ")
    window.until(lambda: "2 questions are waiting for you" in window.views.badge("Done When"), "a badge for two")
    assert len(window.notices.toasts()) == 1
    answer_one_at_a_time(
        window,
        {
            "“Go north”: Run this command in north? touch ASKED": "Deny",
            "“Go south”: Run this command in south? touch ASKED": "Approve",
            "“Go north”: The worker says that it is blocked: there is no key.": "End the Run",
            "“Go south”: The worker says that it is blocked: there is no key.": "End the Run",
        },
    )
    window.until((folders[1] / "ASKED").exists, "the command run where it was approved")
    assert not (folders[0] / "ASKED").exists()
    window.notices.wait("(blocked)")
    window.until(lambda: not window.views.badge("Done When"), "no badge")

    # News that nobody closes keeps no question back.
    models.play(worker=in_turn(calls("run_command", command="touch LATER")))
    window.palette.run("Done When: Start")
    window.palette.pick("north")
    window.notices.press_dialog("Start this run?", "Start")
    window.notices.wait("“Go north”: Run this command in north? touch LATER")


TERMINAL = """
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.executable, [sys.executable, "-m", "donewhen", *sys.argv[1:]])
said = b""
try:
    while part := os.read(terminal, 4096):
        said += part
except OSError:  # how Linux says that the other end is closed
    pass
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def elsewhere(server: CodeServer, folder: Path, *words: str) -> dict[str, Any]:
    """What a person does in a terminal: while a worker is at work, an answer is taken from nowhere else."""
    env = {**os.environ, "XDG_STATE_HOME": str(server.folder / "xdg_state_home")}
    given = [sys.executable, "-c", TERMINAL, *words, "--workspace", str(folder), "--json"]
    done = subprocess.run(given, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_question_that_was_answered_elsewhere_goes_away(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", PYTEST)
    asked: list[str] = []
    replies = one_by_one(
        calls("run_command", command="touch FIRST"),
        calls("report", state="question", text="Which of **these** [two](https://example.com)\ndo you want?"),
        calls("run_command", command="touch SECOND"),
    )

    def worker(call: ModelCall) -> Reply:
        asked.append(call.text)
        return replies(call)

    models.play(worker=worker)
    window = open_window(server, folder)
    begin(window)
    window.notices.wait("touch FIRST")
    run_id = elsewhere(server, folder, "status")["runId"]
    elsewhere(server, folder, "answer", run_id, "I2", "deny")
    window.notices.gone("touch FIRST")
    assert not (folder / "FIRST").exists()

    # It is nowhere any more, not even in the editor's list.
    assert not any("touch FIRST" in one for one in window.notices.listed())

    assert "[two]\u2060(https://example.com) ⏎ do you want?" in window.notices.wait("Which of **these**")
    window.notices.press("Which of **these**", "Answer…")
    window.palette.answer("the second")
    window.until(lambda: "the second" in asked[-1], "told to the worker")
    window.palette.run("Done When: Stop")
    window.until(lambda: "cancelled" in window.notices.bar_label(BAR), "cancelled in the status bar")
    assert not any("ended" in one for one in window.notices.toasts())

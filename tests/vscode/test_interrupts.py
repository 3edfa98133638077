"""What waits for a person: shown as it is, answered in a notification, in an editor or elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.scripted_models import ModelCall, Reply, calls, calls_all, tool
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, one_by_one
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


def test_what_is_asked_is_shown_as_it_is_and_what_is_answered_here_or_elsewhere_is_done(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", PYTEST)
    told_worker: list[str] = []
    looked = threading.Event()
    replies = one_by_one(
        calls("run_command", command=DECEIVING),
        calls("run_command", command="touch APPROVED"),
        calls("write_file", path=TASKS, content='{"version": "2.0.0"}\n'),
        calls_all(tool("run_command", command=LINES), text="Two files are missing."),
        calls("report", state="question", text="Which of **these** [two](https://example.com)\ndo you want?"),
        calls("read_file", path="calc.py"),
        calls("write_file", path="calc.py", content=RIGHT),
        calls("report", state="finished", text="add adds now."),
    )

    def worker(call: ModelCall) -> Reply:
        told_worker.append(call.text)
        if len(told_worker) == 2:
            assert looked.wait(60)  # what it asks next would come while the list is open
        return replies(call)

    models.play(worker=worker)
    window = open_window(server, folder)
    begin(window)
    told = window.notices.wait("echo [Docs]")
    assert "$(bell) \ufffdtxt.hs" in told
    # What the worker wrote made no link: these are the choices.
    assert window.notices.links() == ["Approve", "Deny", "More…", "Show"]
    # It is answered in a terminal, and is nowhere any more, not even in the editor's list.
    run_id = elsewhere(server, folder, "status")["runId"]
    elsewhere(server, folder, "answer", run_id, "I2", "deny")
    window.notices.gone("echo [Docs]")
    assert not any("echo [Docs]" in one for one in window.notices.listed())
    looked.set()

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

    assert "[two]\u2060(https://example.com) ⏎ do you want?" in window.notices.wait("Which of **these**")
    window.notices.press("Which of **these**", "Answer…")
    window.palette.answer("the second")
    window.until(lambda: any("the second" in one for one in told_worker), "told to the worker")

    assert "Proven: 1 of 1 in" in window.notices.wait("is complete")
    window.palette.run("Done When: Report")
    report = window.views.webview()
    window.until(lambda: "python -m pytest -q" in report.locator("body").inner_text(), "the report as a page")
    assert report.locator("h2", has_text="Make add right").count() == 1

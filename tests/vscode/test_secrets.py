"""Keys: from the command to the call of the model, and nowhere else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.scripted_models import ModelCall, Reply, calls, fails, says
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models, Part
from tests.vscode.site import BAR, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
WORKER_KEY, JUDGE_KEY = "sk-worker-5c1d2e", "sk-judge-9f8a7b"
GOAL = """\
# Make add right

- [ ] `python -m pytest -q` passes
- [ ] The function `add` in `calc.py` reads well
"""


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), models.settings()) as server:
        yield server


def noting(keys: list[str], part: Part) -> Part:
    def noted(call: ModelCall) -> Reply:
        keys.append(call.key)
        return part(call)

    return noted


def working(call: ModelCall) -> Reply:
    done = [one.text for one in call.messages if one.role == "tool"]
    replies = [
        calls("read_file", path="calc.py"),
        calls("write_file", path="calc.py", content=RIGHT),
        calls("report", state="finished", text="done"),
    ]
    return replies[min(len(done), 2)]


def holders(server: CodeServer, *more: Path) -> list[str]:
    """Files, processes and environments that hold a key."""
    found: list[str] = []
    for top in (server.folder, *more):
        for path in top.rglob("*"):
            if path.is_file() and not path.is_symlink():
                content = path.read_bytes()
                found.extend(str(path) for key in (WORKER_KEY, JUDGE_KEY) if key.encode() in content)
    for process in server.descendants():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            said = " ".join([*process.cmdline(), *process.environ().values()])
            found.extend(f"process {process.pid}" for key in (WORKER_KEY, JUDGE_KEY) if key in said)
    return found


def test_a_key_reaches_the_model_and_nothing_else_and_can_be_forgotten(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    worker: list[str] = []
    judge: list[str] = []
    models.play(worker=noting(worker, working), judge=noting(judge, lambda call: fails(400, "not now")))
    window = open_window(server, folder)
    window.notices.wait_bar(BAR, "Goal")
    for name, key in (("The worker's model", WORKER_KEY), ("The judge", JUDGE_KEY)):
        window.palette.run("Done When: Set API Key")
        window.palette.pick(name)
        window.palette.answer(key)
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    window.until(lambda: judge, "a call to the judge")
    assert set(worker) == {WORKER_KEY}
    assert set(judge) == {JUDGE_KEY}
    assert holders(server, folder) == []

    # Keys are there again after a reload, and gone when they are forgotten.
    window.reload()
    worker.clear()
    window.notices.wait_bar(BAR, "Goal")
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n", encoding="utf-8")
    models.play(worker=noting(worker, lambda call: says("Nothing.")), judge=lambda call: fails(400, "not now"))
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    window.until(lambda: worker, "a call to the worker's model")
    assert worker[0] == WORKER_KEY
    window.palette.run("Done When: Stop")
    window.until(lambda: "cancelled" in window.notices.bar_label(BAR), "cancelled in the status bar")
    window.palette.run("Done When: Set API Key")
    window.palette.pick("The worker's model")
    window.palette.pick("Forget It")
    worker.clear()
    window.palette.run("Done When: Start")
    window.notices.press_dialog("Start this run?", "Start")
    window.until(lambda: worker, "a call to the worker's model")
    assert WORKER_KEY not in worker
    assert holders(server, folder) == []

"""Checks that write files, with the real runner on a real folder: coverage data and reports, a snapshot, a build; and
what writes files beside them.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.app.engine import open_engine
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.engine.api import StartOptions
from donewhen.settings.loading import Settings
from tests.engine.world import ended

PYTHON = Path(sys.executable)
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": (
        "import json, pathlib\nfrom calc import add\n\n\n"
        "def test_snapshot():\n    kept = pathlib.Path('snapshot.json')\n    if not kept.exists():\n"
        "        kept.write_text(json.dumps(add(1, 2)))\n    assert json.loads(kept.read_text()) == add(1, 2)\n\n\n"
        "def test_add():\n    assert add(1, 2) == 3\n"
    ),
    "build.py": (
        "import pathlib, time\nout = pathlib.Path('out')\nout.mkdir(exist_ok=True)\n"
        "(out / 'calc.txt').write_text(pathlib.Path('calc.py').read_text())\n"
        "(out / 'build.log').write_text(f'built at {time.time_ns()}')\n"
    ),
    "GOAL.md": (
        "---\nmax_iterations: 2\n---\n# Add\n\n"
        "- [ ] `python -m coverage run -m pytest -q -p no:cacheprovider && python -m coverage xml -q` passes\n"
        "- [ ] `python build.py` passes\n"
    ),
}
REPAIR = "rm -f snapshot.json && sed -i.bak s/-/+/ calc.py && rm calc.py.bak"


def _project(root: Path, git: bool) -> Path:
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    for command in (["git", "init", "-q"], ["git", "add", "."]) if git else ():
        subprocess.run(command, cwd=root, check=True)
    return root


@pytest.mark.skipif(sys.platform == "win32", reason="the worker's command is written for a POSIX shell")
@pytest.mark.slow
@pytest.mark.parametrize("git", [True, False])
async def test_coverage_a_snapshot_and_a_build_are_proven(tmp_path: Path, git: bool) -> None:
    root = _project(tmp_path / "w", git)
    runs = await open_engine(root, tmp_path / "state", Settings(), WorkspaceContext(interpreter=lambda: PYTHON))
    try:
        options = StartOptions(worker="command", worker_command=REPAIR)
        view = await ended(runs, (await runs.start("GOAL.md", options)).state.run_id)
        assert (view.state.status, view.state.iteration, view.state.lifecycle.reason) == (
            "complete",
            1,
            "every requirement is proven",
        )
        assert (root / "coverage.xml").exists()
        assert (root / "snapshot.json").read_text(encoding="utf-8") == "3"
        again = await runs.check("GOAL.md")
        assert [one.status for one in again.views] == ["met", "met"]
    finally:
        await runs.close("the test ended")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the worker's command is written for a POSIX shell")
async def test_a_build_that_writes_for_ever_ends_the_run_and_is_named(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "GOAL.md").write_text("# Make it\n\n- [ ] `sleep 0.1; test -f made` passes\n", encoding="utf-8")
    build = (
        "import pathlib, time\nfor n in range(6000):\n    pathlib.Path('built.py').write_text(str(n)); time.sleep(0.01)"
    )
    building = await asyncio.create_subprocess_exec(sys.executable, "-c", build, cwd=root)
    runs = await open_engine(root, tmp_path / "state", Settings(), WorkspaceContext(interpreter=lambda: PYTHON))
    try:
        options = StartOptions(worker="command", worker_command="touch made")
        state = (await ended(runs, (await runs.start("GOAL.md", options)).state.run_id)).state
        assert state.status == "blocked", state.lifecycle.reason
        assert "files keep changing (built.py)" in state.lifecycle.reason
        assert state.iteration == 3
        building.kill()
        await building.wait()
        await runs.resume(state.run_id)
        assert (await ended(runs, state.run_id)).state.status == "complete"
    finally:
        with contextlib.suppress(ProcessLookupError):
            building.kill()
        await building.wait()
        await runs.close("the test ended")


@pytest.mark.skipif(sys.platform == "win32", reason="the worker's command is written for a POSIX shell")
async def test_a_run_whose_folder_was_moved_is_paused_until_it_is_back(tmp_path: Path) -> None:
    root, moved, gone = tmp_path / "w", tmp_path / "moved", "is gone: put it back, then resume"
    root.mkdir()
    (root / "GOAL.md").write_text("# Make it\n\n- [ ] `test -f made` passes\n", encoding="utf-8")
    once = f"{root}.once"
    command = f"if [ -e {once} ]; then touch made; else touch {once}; mv {root} {moved}; fi"
    options = StartOptions(worker="command", worker_command=command)
    runs = await open_engine(root, tmp_path / "state", Settings(), WorkspaceContext())
    try:
        view = await ended(runs, (await runs.start("GOAL.md", options)).state.run_id)
        assert (view.state.status, view.state.lifecycle.reason) == ("paused", f"the workspace folder {root} {gone}")
        moved.rename(root)
        await runs.resume(view.state.run_id)
        assert (await ended(runs, view.state.run_id)).state.status == "complete"
    finally:
        await runs.close("the test ended")

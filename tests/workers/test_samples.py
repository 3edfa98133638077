"""The demonstration's sample: what its scripted worker does to its tests, turn by turn."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from donewhen.cli.samples import DemoProject, goal_text, interpreter_name, prepare
from donewhen.core.events import RunOptions
from donewhen.core.goal import Goal
from donewhen.workers.scripted import ScriptedWorker
from donewhen.workspace.processes.running import SystemProcesses

from .agent_turns import worker_parts
from .turns import Context, Folder, environment, requirement, turn

QUICK = {**environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
COMMAND = re.compile(r"`(python[^`]* -m [^`]+)`")


@pytest.fixture(params=[True, pytest.param(False, marks=pytest.mark.slow)], ids=["pytest", "unittest"])
def demo(request: pytest.FixtureRequest, tmp_path: Path) -> DemoProject:
    return prepare(tmp_path / "demo", pytest=request.param)


def test_the_copy_is_whole_and_the_script_lies_outside(demo: DemoProject) -> None:
    assert demo.goal.parent == demo.workspace
    assert demo.workspace not in demo.script.parents
    found = sorted(p.relative_to(demo.workspace).as_posix() for p in demo.workspace.rglob("*") if p.is_file())
    assert found == [
        "GOAL.md",
        "csv_export/__init__.py",
        "csv_export/__main__.py",
        "csv_export/writer.py",
        "tests/__init__.py",
        "tests/test_line_breaks.py",
        "tests/test_quotes.py",
        "tests/test_rows.py",
    ]


def test_a_second_copy_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    prepare(tmp_path, pytest=False)
    with pytest.raises(FileExistsError):
        prepare(tmp_path, pytest=False)


async def test_every_turn_changes_what_the_demonstration_says(demo: DemoProject) -> None:
    """Red; the quotes green by work and the line breaks by skipping; then those by work, too."""
    context = Context(Folder(demo.workspace))
    worker = ScriptedWorker(demo.script, worker_parts(RunOptions("scripted")))
    goal = Goal("demo", "", (requirement(1, "x"),))
    seen: list[tuple[bool, ...]] = [await _checks(demo)]
    for iteration in range(1, 4):
        result = await worker.work(turn(iteration, goal), context)
        assert result.claim.state == "finished"
        seen.append(await _checks(demo))
        assert _skips(demo) == (1 if iteration == 2 else 0)
    red, green = (False, True, False, False), (True, True, True, True)
    assert seen == [red, red, green, green]


def test_without_pytest_the_goal_names_unittest_and_the_interpreter_that_there_is() -> None:
    template = "- `python -m pytest -q` passes\n- `python -m unittest -q tests.test_a`\n- `python -m compileall -q x`"
    assert goal_text(template, pytest=True, python="python") == template
    assert COMMAND.findall(goal_text(template, pytest=False, python="python3")) == [
        "python3 -m unittest -q",
        "python3 -m unittest -q tests.test_a",
        "python3 -m compileall -q x",
    ]


def test_the_interpreter_is_called_python_where_that_exists_beside_it(tmp_path: Path) -> None:
    (tmp_path / "python3").touch()
    assert interpreter_name(str(tmp_path / "python3")) == "python3"
    (tmp_path / "python").touch()
    assert interpreter_name(str(tmp_path / "python3")) == "python"


async def _checks(demo: DemoProject) -> tuple[bool, ...]:
    return tuple([await _passes(command, demo.workspace) for command in _commands(demo)])


def _commands(demo: DemoProject) -> list[str]:
    return COMMAND.findall(demo.goal.read_text())


def _skips(demo: DemoProject) -> int:
    return sum(path.read_text().count("@unittest.skip(") for path in demo.workspace.rglob("test_*.py"))


async def _passes(command: str, folder: Path) -> bool:
    result = await SystemProcesses().run(
        [sys.executable, *command.split()[1:]], cwd=folder, environment=QUICK, token="t", timeout=60
    )
    assert result.exit_code is not None
    return result.exit_code == 0
